"""Compares the protected paths of a task that has ended, restores them, and writes notes about it.

The task's keeper starts this as a separate program with the task's directory open, because a keeper may live for weeks
and should import next to nothing. The host calls `restore` for a task whose keeper was killed.
"""

from __future__ import annotations

import fcntl
import os
import sys

if __name__ == "__main__":  # started with the keeper's Python, without `site`
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from nacre.keeper.protocol.restore_paths import FOLDER_FD
from nacre.keeper.protocol.task_dir import NOTES, PROTECTION
from nacre.protected_paths.protection import Protection

_MAX_BYTES = 64 * 1024 * 1024
_MAX_NOTES = 100
_MAX_NOTE_BYTES = 1000
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


def digest_of(saved: bytes) -> str:
    """Return the SHA-256 digest of a saved protection, in hexadecimal."""
    from hashlib import sha256  # slow to import, and only tasks in a workspace need it

    return sha256(saved).hexdigest()


def restore(folder: int, digest: str | None = None) -> bool:
    """Restore the paths of the task whose directory is open as `folder`. Return False if another process is doing it.

    `digest` is that of the saved protection; None if only the user can have written there. Raises OSError or ValueError
    if the saved protection cannot be read, or was changed.
    """
    with open(os.open(PROTECTION, _FILE, dir_fd=folder), "rb") as saved:
        try:
            fcntl.flock(saved, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        data = saved.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise ValueError("it is too large")
        if digest is not None and digest_of(data) != digest:
            raise ValueError("it was changed")
        write_notes(folder, Protection.load(data).restore())
        os.unlink(PROTECTION, dir_fd=folder)
    return True


def write_notes(folder: int, notes: list[str]) -> None:
    """Write sentences, each terminated by a NUL, which no path contains."""
    if len(notes) > _MAX_NOTES:
        notes = [*notes[:_MAX_NOTES], f"{len(notes) - _MAX_NOTES} more protected paths were put back."]
    draft = f"{NOTES}.new"
    with open(os.open(draft, _NEW, 0o600, dir_fd=folder), "wb") as file:
        file.write(b"".join(note.encode("utf-8", "replace")[:_MAX_NOTE_BYTES] + b"\0" for note in notes))
    os.rename(draft, NOTES, src_dir_fd=folder, dst_dir_fd=folder)


if __name__ == "__main__":
    restore(FOLDER_FD, sys.argv[1])
