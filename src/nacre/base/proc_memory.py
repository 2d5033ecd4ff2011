"""Hides arguments and variables of this process from what `/proc` shows other processes.

Best effort: where `/proc` is missing, or other code has rewritten these parts of memory, nothing happens.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

_ARGUMENT_FIELDS = (47, 48)
_ENVIRONMENT_FIELDS = (49, 50)
"""Indices of the start and end address in /proc/self/stat, from 0."""


def hide_last_arguments(count: int) -> None:
    """Overwrite the last `count` arguments of this process with NUL bytes, as `ps` and `pkill -f` see them."""
    if count <= 0:
        return
    with _suppress_failures():
        start, line = _read_memory("cmdline", _ARGUMENT_FIELDS)
        if line.endswith(b"\0"):
            kept = sum(len(word) + 1 for word in line[:-1].split(b"\0")[:-count])
            _overwrite([(start + kept, bytes(len(line) - kept))])


def hide_variable(name: str) -> None:
    """Overwrite the value of a variable, in every occurrence, in the environment at the start of this process.
    `os.environ` is a copy, and is not changed."""
    with _suppress_failures():
        start, shown = _read_memory("environ", _ENVIRONMENT_FIELDS)
        _overwrite(
            [
                (start + position + len(name.encode()) + 1, b"x" * len(value))
                for position, word, value in _split_variables(shown)
                if word == name.encode()
            ]
        )


def _suppress_failures() -> contextlib.AbstractContextManager[None]:
    return contextlib.suppress(OSError, ValueError, IndexError)


def _split_variables(shown: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield position, name and value of each variable."""
    position = 0
    for each in shown.split(b"\0"):
        name, equals, value = each.partition(b"=")
        if equals:
            yield position, name, value
        position += len(each) + 1


def _read_memory(name: str, fields: tuple[int, int]) -> tuple[int, bytes]:
    """Return the address and contents of a part of memory that `/proc/self/NAME` shows. Raise ValueError if other code
    has changed its size."""
    with open("/proc/self/stat", "rb") as file:
        # the process name is in parentheses and may itself contain spaces
        values = [b"", b"", *file.read().rpartition(b")")[2].split()]
    start, end = (int(values[field]) for field in fields)
    with open(f"/proc/self/{name}", "rb") as file:
        shown = file.read()
    if len(shown) != end - start:
        raise ValueError(f"/proc/self/{name} has changed its size")
    return start, shown


def _overwrite(parts: list[tuple[int, bytes]]) -> None:
    memory = os.open("/proc/self/mem", os.O_WRONLY | os.O_CLOEXEC)
    try:
        for address, data in parts:
            os.pwrite(memory, data, address)
    finally:
        os.close(memory)
