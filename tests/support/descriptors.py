"""A process without descriptors, for programs that are hosts of their own: the limit is not given back."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterator


def limit_descriptors(soft: int) -> None:
    """From now on this process may have so many."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


@contextlib.contextmanager
def few_descriptors(pid: int, soft: int) -> Iterator[None]:
    """Meanwhile this process of ours has none beyond that number, nor has what it forks. Linux only."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, before[1]))
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):  # it has ended
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


@contextlib.contextmanager
def no_descriptor_left() -> Iterator[list[int]]:
    """All are in use; the ones in the list by us, until the end. Take one out and close it, and one is free."""
    held: list[int] = []
    with contextlib.suppress(OSError):
        while True:
            held.append(os.open("/dev/null", os.O_RDONLY))
    try:
        yield held
    finally:
        for fd in held:
            os.close(fd)
