"""Hides the value of a variable in the environment of this process that `/proc` shows.

`os.environ` is a copy; /proc/PID/environ shows the environment at the start. Like `nacre.cli.run.hide_argv` this is
best effort: failures are ignored.
"""

from __future__ import annotations

import contextlib
import os

_ENV_START, _ENV_END = 49, 50
"""Field indexes in /proc/self/stat, counted from 0."""


def conceal_variable(name: str) -> None:
    """Overwrite the variable's value in memory, in every occurrence."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open("/proc/self/stat", "rb") as file:
            # the name is in parentheses and may itself contain spaces
            fields = [b"", b"", *file.read().rpartition(b")")[2].split()]
        start, end = int(fields[_ENV_START]), int(fields[_ENV_END])
        with open("/proc/self/environ", "rb") as file:
            shown = file.read()
        if len(shown) != end - start:
            return  # other code has changed it
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
