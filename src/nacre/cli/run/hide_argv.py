"""Removes the arguments after `nacre run` from this process's argument list, as `ps` and `pkill -f` see it.

Otherwise `pkill -f word` in a command would kill the nacre that runs it. Best effort: if it fails, it fails silently.
"""

from __future__ import annotations

import contextlib
import os

_ARG_START, _ARG_END = 47, 48
"""Indices into the fields of /proc/self/stat, from 0."""


def conceal_arguments(count: int) -> None:
    """Overwrite the last `count` arguments of this process with NUL bytes."""
    if count <= 0:
        return
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open("/proc/self/stat", "rb") as file:
            # the name is in parentheses and may itself contain spaces
            fields = [b"", b"", *file.read().rpartition(b")")[2].split()]
        start, end = int(fields[_ARG_START]), int(fields[_ARG_END])
        with open("/proc/self/cmdline", "rb") as file:
            line = file.read()
        if len(line) != end - start or not line.endswith(b"\0"):
            return  # other code has rewritten the argument list
        kept = sum(len(word) + 1 for word in line[:-1].split(b"\0")[:-count])
        memory = os.open("/proc/self/mem", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.pwrite(memory, bytes(len(line) - kept), start + kept)
        finally:
            os.close(memory)
