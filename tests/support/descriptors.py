"""A process without descriptors, for programs that are hosts of their own: the limit is not given back."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterator

import pytest


def limit_descriptors(soft: int) -> None:
    """From now on this process may have so many, or fewer if it must."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (_cap_soft_limit(soft, hard), hard))


def _cap_soft_limit(soft: int, hard: int) -> int:
    return soft if hard == resource.RLIM_INFINITY else min(soft, hard)


def need_descriptors(count: int) -> None:
    """Skips the test where a process cannot have so many."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if _cap_soft_limit(count, hard) < count:
        pytest.skip(f"needs {count} descriptors, and the limit is {hard} here (ulimit -Hn)")


@contextlib.contextmanager
def many_descriptors(count: int) -> Iterator[None]:
    """Meanwhile this process may have at least so many. Skips the test where that cannot be had."""
    need_descriptors(count)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count) if soft != resource.RLIM_INFINITY else soft, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def few_descriptors(pid: int, soft: int) -> Iterator[None]:
    """Meanwhile this process of ours has none beyond that number, nor has what it forks. Linux only."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (_cap_soft_limit(soft, before[1]), before[1]))
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
