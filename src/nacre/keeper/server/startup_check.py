"""Has a shell got anywhere yet? What fails at once has not, however long that takes on a busy machine."""

from __future__ import annotations

from nacre.keeper.protocol import procfs
from nacre.keeper.protocol.bootstrap import SHELL_MARKER

_KEEPER_PROGRAMS = f"bash\0-c\0{SHELL_MARKER}".encode()
_WORKING_CPU_TICKS = 2
"""Ticks of computing, a hundredth of a second each, after which it is busy with something."""


def has_started_working(shell: int) -> bool | None:
    """It has become or started another program, or has computed for a while. None: it does nothing but wait."""
    asleep = True
    for pid in (shell, *procfs.children_of(shell)):
        seen = procfs.read_process(pid)
        words = procfs.read_proc_file(f"/proc/{pid}/cmdline")  # none if it is gone, or about to be
        if words and (not words.startswith(_KEEPER_PROGRAMS) or procfs.cpu_ticks(pid) >= _WORKING_CPU_TICKS):
            return True
        asleep = asleep and bool(words) and seen is not None and seen.is_sleeping
    return None if asleep else False
