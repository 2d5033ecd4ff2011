"""Restore the protected paths of a task at its end, in a separate program with a time limit.

The keeper does not do it itself: comparing and restoring needs more modules than a keeper should hold in memory, and
could hang on a file system that does not respond.
"""

from __future__ import annotations

import os
import sys

from nacre.keeper.protocol.signals import DEFAULT_SIGNALS
from nacre.keeper.protocol.task_dir import NOTES, PROTECTION

RESTORE_MAX_S = 30.0
"""Seconds after which a task is reported as ended even if the program still runs."""
FOLDER_FD = 3
"""The task's directory in that program. The keeper's own descriptors of directories have higher numbers."""
UNRESTORED = "Protected paths were not compared with what was there before this task: %s. Look at them yourself."
_PROGRAM = os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "protected_paths", "restore_task.py"
)
_MAX_NOTES_BYTES = 128 * 1024


def has_protection(folder: int) -> bool:
    """Return whether the task's directory holds a snapshot to compare with."""
    try:
        os.stat(PROTECTION, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True


def spawn_restorer(folder: int, digest: bytes) -> int:
    """Start the program and return its PID. OSError: no process is available, or Python was removed.

    `digest`: see `StartMessage.protection`. A process that can write to the directory must not choose what is restored.
    """
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
    """Return the notes on what was restored. OSError: there is no such file, not even an empty one."""
    fd = os.open(NOTES, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        return os.read(fd, _MAX_NOTES_BYTES).decode("utf-8", "replace").split("\0")[:-1]
    finally:
        os.close(fd)
