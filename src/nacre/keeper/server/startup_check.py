"""Has a shell got anywhere yet? What fails at once has not, however long that takes on a busy machine."""

from __future__ import annotations

from nacre.keeper.protocol import procfs
from nacre.keeper.protocol.bootstrap import MARK

_OURS = f"bash\0-c\0{MARK}".encode()
_ENOUGH = 2
"""Ticks of computing, a hundredth of a second each, after which it is busy with something."""


def going(shell: int) -> bool | None:
    """It has become or started another program, or has computed for a while. None: it does nothing but wait."""
    asleep = True
    for pid in (shell, *procfs.children_of(shell)):
        seen = procfs.look(pid)
        words = procfs.read(f"/proc/{pid}/cmdline")  # none if it is gone, or about to be
        if words and (not words.startswith(_OURS) or procfs.ticks(pid) >= _ENOUGH):
            return True
        asleep = asleep and bool(words) and seen is not None and seen.asleep
    return None if asleep else False
