"""Limits on the descriptors of this process. `limit_descriptors` is never undone; use it in short-lived hosts."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterator

import pytest


def limit_descriptors(soft: int) -> None:
    """Set the soft limit of this process for good; cap it at the hard limit."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (_cap_soft_limit(soft, hard), hard))


def _cap_soft_limit(soft: int, hard: int) -> int:
    return soft if hard == resource.RLIM_INFINITY else min(soft, hard)


def need_descriptors(count: int) -> None:
    """Skip the test if a process cannot have this many descriptors."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if _cap_soft_limit(count, hard) < count:
        pytest.skip(f"needs {count} descriptors, and the limit is {hard} here (ulimit -Hn)")


@contextlib.contextmanager
def many_descriptors(count: int) -> Iterator[None]:
    """Raise the soft limit to at least `count` inside the block. Skip the test if the hard limit is lower."""
    need_descriptors(count)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count) if soft != resource.RLIM_INFINITY else soft, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def few_descriptors(pid: int, soft: int) -> Iterator[None]:
    """Cap the descriptors of this child process, and of what it forks, inside the block. Linux only."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (_cap_soft_limit(soft, before[1]), before[1]))
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):  # it has exited
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


@contextlib.contextmanager
def no_descriptor_left() -> Iterator[list[int]]:
    """Use up all descriptors inside the block; yield those taken. Close and remove one from the list to free it."""
    held: list[int] = []
    with contextlib.suppress(OSError):
        while True:
            held.append(os.open("/dev/null", os.O_RDONLY))
    try:
        yield held
    finally:
        for fd in held:
            os.close(fd)
