"""A task's directory, read without trust: it may contain anything, and may change or vanish at any moment.

Symbolic links are not followed, FIFOs do not block, and only files of this user are accepted. All files are opened
relative to a directory descriptor, so the file that was checked is the one that is read.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from typing import Any

from nacre.errors import InvalidRequest

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KIND, _REGULAR = 0o170000, stat.S_IFREG
_MAX_JSON_BYTES = 1024 * 1024
"""Bytes; real files have a few hundred."""


class InvalidTaskDirectory(Exception):
    """The entry is not as nacre writes it; the message says why."""


def _refuse(word: str) -> None:
    raise ValueError(word)


_decode = json.JSONDecoder(parse_constant=_refuse).raw_decode
"""Decoder that rejects NaN and Infinity: Python accepts them, but they are not JSON."""


def open_store(path: str) -> int | None:
    """Open a store's directory; None if it does not exist. InvalidRequest: it is not a directory, or a symbolic link,
    which a command may have put in its place."""
    try:
        return os.open(path, _DIRECTORY)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM):
            raise
        reason = "it is a symlink" if os.path.islink(path) else error.strerror
        raise InvalidRequest(
            "bad_store",
            f"Cannot read tasks in {path!r}: {reason}.",
            field="directory",
            hint="Name your own task directory, not a symlink to one; or none for the default.",
        ) from error


class TaskDirectory:
    """An open task directory of a store. FileNotFoundError: it does not exist (any more).

    Every method may raise InvalidTaskDirectory, and OSError if this process is out of descriptors or memory.
    """

    __slots__ = ("fd", "id", "path", "user")

    def __init__(self, store: str, store_fd: int, name: str) -> None:
        self.id = name
        self.path = f"{store}/{name}"
        self.user = os.geteuid()
        try:
            self.fd = os.open(name, _DIRECTORY, dir_fd=store_fd)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _invalid_task_directory("it", error) from error
        try:
            self._check_owner("it", os.fstat(self.fd))
        except BaseException:
            os.close(self.fd)
            raise

    def __enter__(self) -> TaskDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)

    def open(self, name: str) -> tuple[int, os.stat_result] | None:
        """Open a regular file of this user for reading; None if it does not exist."""
        try:
            fd = os.open(name, _FILE, dir_fd=self.fd)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _invalid_task_directory(name, error) from error
        try:
            status = os.fstat(fd)
            if status.st_mode & _KIND != _REGULAR:
                raise InvalidTaskDirectory(f"{name} is not a file")
            if status.st_uid != self.user:
                self._check_owner(name, status)
        except BaseException:
            os.close(fd)
            raise
        return fd, status

    def json(self, name: str) -> dict[str, Any] | None:
        """Return the JSON object in a file; None if the file does not exist."""
        opened = self.open(name)
        if opened is None:
            return None
        fd, status = opened
        try:
            size = status.st_size
            # not if larger: a buffer of that size would be allocated first
            data = os.read(fd, size) if size <= _MAX_JSON_BYTES else None
        except OSError as error:
            raise _invalid_task_directory(name, error) from error
        finally:
            os.close(fd)
        if data is None:
            raise InvalidTaskDirectory(f"{name} is too large")
        try:
            text = data.decode()
            value, end = _decode(text)
        except (ValueError, RecursionError) as error:
            raise InvalidTaskDirectory(f"{name} is not JSON") from error
        if type(value) is not dict or text[end:].strip():
            raise InvalidTaskDirectory(f"{name} is not a JSON object")
        return value

    def names(self) -> list[str]:
        try:
            return os.listdir(self.fd)
        except OSError as error:
            raise _invalid_task_directory("it", error) from error

    def age(self, now: float, name: str = "") -> float:
        """Return seconds since the directory, or a file in it, was changed. Times in the future count as their distance
        from now: clocks are set back."""
        try:
            status = os.stat(name, dir_fd=self.fd, follow_symlinks=False) if name else os.fstat(self.fd)
        except OSError:
            return float("inf")
        return abs(now - status.st_mtime)

    def _check_owner(self, what: str, status: os.stat_result) -> None:
        if status.st_uid != self.user:
            raise InvalidTaskDirectory(f"{what} belongs to user {status.st_uid}")


def _invalid_task_directory(what: str, error: OSError) -> InvalidTaskDirectory | OSError:
    if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):
        return error  # says nothing about the task
    if error.errno in (errno.ENOTDIR, errno.ELOOP):
        return InvalidTaskDirectory(f"{what} is {'not a directory' if what == 'it' else 'a symlink'}")
    return InvalidTaskDirectory(f"{what} cannot be read: {error.strerror}")
