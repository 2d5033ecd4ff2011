"""Hides arguments and variables of this process, which `ps` and /proc show to other processes.

/proc/PID/cmdline and /proc/PID/environ show the process's own memory, so that is overwritten. Best effort: if it fails,
it fails silently.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import TypeAlias

_Change: TypeAlias = tuple[int, bytes]
"""Offset in what /proc shows, and the bytes to put there."""
_ARG_START, _ENV_START = 47, 49
"""Indices into the fields of /proc/self/stat, from 0; each is followed by that of the end."""


def conceal_arguments(count: int) -> None:
    """Overwrite the last `count` arguments with NUL bytes.

    Otherwise `pkill -f word` in a command would kill the nacre that runs it.
    """
    if count > 0:
        _overwrite("/proc/self/cmdline", _ARG_START, lambda line: _find_arguments(line, count))


def conceal_variable(name: str) -> None:
    """Overwrite the variable's value, in every occurrence. `os.environ` keeps it: that is a copy."""
    _overwrite("/proc/self/environ", _ENV_START, lambda shown: _find_values(shown, name.encode()))


def _find_arguments(line: bytes, count: int) -> list[_Change]:
    if not line.endswith(b"\0"):
        return []  # other code has rewritten the argument list
    kept = sum(len(word) + 1 for word in line[:-1].split(b"\0")[:-count])
    return [(kept, bytes(len(line) - kept))]


def _find_values(shown: bytes, name: bytes) -> list[_Change]:
    changes, place = [], 0
    for each in shown.split(b"\0"):
        head, equals, value = each.partition(b"=")
        if equals and head == name:
            changes.append((place + len(head) + 1, b"x" * len(value)))
        place += len(each) + 1
    return changes


def _overwrite(file: str, field: int, find: Callable[[bytes], list[_Change]]) -> None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open("/proc/self/stat", "rb") as stat:
            # the name is in parentheses and may itself contain spaces
            fields = [b"", b"", *stat.read().rpartition(b")")[2].split()]
        start, end = int(fields[field]), int(fields[field + 1])
        with open(file, "rb") as opened:
            shown = opened.read()
        if len(shown) != end - start:
            return  # other code has changed it
        memory = os.open("/proc/self/mem", os.O_WRONLY | os.O_CLOEXEC)
        try:
            for offset, data in find(shown):
                os.pwrite(memory, data, start + offset)
        finally:
            os.close(memory)
