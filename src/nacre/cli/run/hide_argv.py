"""Takes the words after `nacre run` out of this process's argument list, as `ps` and `pkill -f` see it.

`pkill -f word` in a command would otherwise hit the very nacre that runs it. A courtesy: where it cannot be done it is
not done, and nothing says so.
"""

from __future__ import annotations

import contextlib
import os

_ARG_START, _ARG_END = 47, 48
"""Places in /proc/self/stat, counted from 0."""


def conceal_arguments(count: int) -> None:
    """Blank the last `count` arguments that this process was started with."""
    if count <= 0:
        return
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open("/proc/self/stat", "rb") as file:
            # the name is in parentheses and may itself hold blanks
            fields = [b"", b"", *file.read().rpartition(b")")[2].split()]
        start, end = int(fields[_ARG_START]), int(fields[_ARG_END])
        with open("/proc/self/cmdline", "rb") as file:
            line = file.read()
        if len(line) != end - start or not line.endswith(b"\0"):
            return  # somebody has rewritten it before us
        kept = sum(len(word) + 1 for word in line[:-1].split(b"\0")[:-count])
        memory = os.open("/proc/self/mem", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.pwrite(memory, bytes(len(line) - kept), start + kept)
        finally:
            os.close(memory)
