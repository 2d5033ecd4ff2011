"""Reads and replaces settings files, and keeps a backup of the original next to them.

Links and modes are preserved, and a file is replaced atomically.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

_BACKUP_SUFFIX = ".before-nacre"


def read(path: str) -> bytes | None:
    """Return the content; None if there is no such file."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def backup_path(path: str) -> str:
    """Return the path of the backup."""
    return os.path.realpath(path) + _BACKUP_SUFFIX


def write(path: str, data: bytes | None, *, like: str | None = None) -> None:
    """Write a file atomically; remove it if `data` is None. It keeps its mode, or gets that of `like`."""
    path = os.path.realpath(path)
    if data is None:
        os.unlink(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    mode = None
    with suppress(FileNotFoundError):
        mode = stat.S_IMODE(os.stat(like or path).st_mode)
    aside = f"{path}.{os.getpid()}.new"
    try:
        fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666 if mode is None else 0o600)
        with open(fd, "wb") as file:
            if mode is not None:
                os.fchmod(fd, mode)
            file.write(data)
            file.flush()
            os.fsync(fd)
        os.replace(aside, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(aside)
        raise
