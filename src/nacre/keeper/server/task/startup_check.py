"""Check whether a new shell has got to work, as opposed to a command that fails at once on a busy machine."""

from __future__ import annotations

from nacre.keeper.protocol import procfs
from nacre.keeper.protocol.bootstrap import SHELL_MARKER

_KEEPER_PROGRAMS = f"bash\0-c\0{SHELL_MARKER}".encode()
_WORKING_CPU_TICKS = 2
"""Ticks (hundredths of a second) of CPU time after which a process is considered to be working."""


def has_started_working(shell: int) -> bool | None:
    """Return whether the shell has execed or started another program, or has used some CPU time. None: all processes
    sleep."""
    asleep = True
    for pid in (shell, *procfs.children_of(shell)):
        seen = procfs.read_process(pid)
        words = procfs.read_proc_file(f"/proc/{pid}/cmdline")  # empty if it is gone or exiting
        if words and (not words.startswith(_KEEPER_PROGRAMS) or procfs.cpu_ticks(pid) >= _WORKING_CPU_TICKS):
            return True
        asleep = asleep and bool(words) and seen is not None and seen.is_sleeping
    return None if asleep else False
