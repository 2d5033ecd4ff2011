"""Takes the value of a variable out of the environment that this process was started with, as `/proc` shows it.

`os.environ` is a copy; the kernel shows what a process was started with. As `nacre.cli.run.hide_argv` a courtesy:
where it cannot be done it is not done.
"""

from __future__ import annotations

import contextlib
import os

_ENV_START, _ENV_END = 49, 50
"""Places in /proc/self/stat, counted from 0."""


def conceal_variable(name: str) -> None:
    """Blank its value, wherever it stands."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open("/proc/self/stat", "rb") as file:
            # the name is in parentheses and may itself hold blanks
            fields = [b"", b"", *file.read().rpartition(b")")[2].split()]
        start, end = int(fields[_ENV_START]), int(fields[_ENV_END])
        with open("/proc/self/environ", "rb") as file:
            shown = file.read()
        if len(shown) != end - start:
            return  # somebody has rewritten it before us
        memory = os.open("/proc/self/mem", os.O_WRONLY | os.O_CLOEXEC)
        try:
            place = 0
            for each in shown.split(b"\0"):
                head, equals, value = each.partition(b"=")
                if equals and head == name.encode():
                    os.pwrite(memory, b"x" * len(value), start + place + len(head) + 1)
                place += len(each) + 1
        finally:
            os.close(memory)
