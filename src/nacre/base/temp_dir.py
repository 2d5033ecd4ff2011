"""Find the directory for temporary files, the same that `tempfile.gettempdir()` returns.

`gettempdir()` tests a directory by writing a file and removing it; a process that is killed in between leaves that file
behind. An unnamed file (O_TMPFILE) proves the same and disappears with the process.
"""

from __future__ import annotations

import errno
import os
import stat
import sys

_VARIABLES = ("TMPDIR", "TEMP", "TMP")
_USUAL = ("/tmp", "/var/tmp", "/usr/tmp")
_NAMELESS = getattr(os, "O_TMPFILE", 0)
_UNSUPPORTED = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL)
"""Errors of a file system, or a kernel, without support for O_TMPFILE."""


class NoTemporaryDirectory(FileNotFoundError):
    """Temporary files cannot be created; `hint` has the remedy."""

    hint = "Set TMPDIR to a directory that this user can write to."

    def __init__(self, reason: str) -> None:
        super().__init__(errno.ENOENT, reason)


_OF_THE_PLACE = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)


def new_name() -> str:
    """Return an unused path for a new temporary directory. NoTemporaryDirectory: no directory is writable."""
    return os.path.join(temporary_directory(), f"nacre-{os.urandom(8).hex()}")


def make_directory(path: str) -> None:
    """Create a directory that only this user can access. NoTemporaryDirectory: its parent is not writable."""
    try:
        os.mkdir(path, 0o700)
    except OSError as error:
        if error.errno not in _OF_THE_PLACE:
            raise
        place = os.path.dirname(path)
        raise NoTemporaryDirectory(f"the temporary directory {place} is not writable: {error.strerror}") from error


def is_own_directory(path: str) -> bool:
    """Return whether `path` is a directory that this user owns.

    A cleaner of /tmp may have removed it since, and then another user can take its name.
    """
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()


def is_free(path: str, place: str) -> bool:
    """Return whether `path` may be created in `place`: it is directly in there, and no file has its name.

    It was not created yet, or a cleaner of /tmp has removed it.
    """
    return os.path.dirname(path) == place and not os.path.lexists(path)


_found: dict[tuple[str, ...], str] = {}


def temporary_directory() -> str:
    """Return the absolute path of the directory for temporary files.

    It is `tempfile.tempdir` if the program has set that, else the first usable one of $TMPDIR, $TEMP, $TMP, /tmp,
    /var/tmp, /usr/tmp and the current directory. NoTemporaryDirectory: none of them is writable.
    """
    tempfile = sys.modules.get("tempfile")  # importing it is slow; until imported, it has no setting
    if tempfile is not None and tempfile.tempdir is not None:
        return os.path.abspath(os.fsdecode(tempfile.tempdir))
    named = tuple([os.environ.get(name, "") for name in _VARIABLES])
    if named not in _found:
        _found[named] = _first_usable([os.path.abspath(path) for path in (*named, *_USUAL, _current()) if path])
    return _found[named]


def _first_usable(candidates: list[str]) -> str:
    for path in candidates:
        if _can_hold_files(path):
            return path
    raise NoTemporaryDirectory(f"no temporary directory is writable, of {', '.join(candidates)}")


def _can_hold_files(path: str) -> bool:
    if not os.access(path, os.W_OK | os.X_OK) or not os.path.isdir(path):
        return False
    if not _NAMELESS:
        return True
    try:
        fd = os.open(path, _NAMELESS | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except OSError as error:
        return error.errno in _UNSUPPORTED and os.statvfs(path).f_blocks > 0  # 0 blocks: such as /proc
    try:
        return os.write(fd, b"x") == 1
    except OSError:
        return False  # disk full
    finally:
        os.close(fd)


def _current() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""  # the directory was removed
