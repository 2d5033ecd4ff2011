"""How the protected paths of a task are put back when it has ended: by a program of its own, within a bound.

The keeper does not do it itself: what compares and restores takes more modules than a keeper is to have in memory, and
could hang on a file system that does not answer.
"""

from __future__ import annotations

import os
import sys

from nacre.keeper.protocol.signals import DEFAULT_SIGNALS
from nacre.keeper.protocol.task_dir import NOTES, PROTECTION

RESTORE_MAX_S = 30.0
"""Seconds after which a task is said to have ended, whatever the program does."""
FOLDER_FD = 3
"""The task's directory, in that program; a keeper's own descriptors of that kind are higher."""
UNRESTORED = "Protected paths were not compared with what was there before this task: %s. Look at them yourself."
_PROGRAM = os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "protected_paths", "restore_task.py"
)
_MAX_NOTES_BYTES = 128 * 1024


def has_protection(folder: int) -> bool:
    """Whether there is anything to compare with."""
    try:
        os.stat(PROTECTION, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True


def spawn_restorer(folder: int, digest: bytes) -> int:
    """Its number. OSError: there is no process to be had, or no Python any more. `digest`: see
    `StartMessage.protection`; whoever can write to the folder is not to choose what is put back."""
    return os.posix_spawn(
        sys.executable,
        (sys.executable, "-I", "-S", _PROGRAM, digest),
        dict(os.environ),
        file_actions=[
            *((os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3)),
            (os.POSIX_SPAWN_DUP2, folder, FOLDER_FD),
        ],
        setsid=True,
        setsigmask=(),
        setsigdef=DEFAULT_SIGNALS,
    )


def read_notes(folder: int) -> list[str]:
    """Sentences about what was put back. OSError: there are none, not even that nothing was."""
    fd = os.open(NOTES, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        return os.read(fd, _MAX_NOTES_BYTES).decode("utf-8", "replace").split("\0")[:-1]
    finally:
        os.close(fd)
