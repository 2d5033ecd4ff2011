"""Move what a command has left out of git's way, without following links, and without losing it."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

from nacre.protected_paths.open_path import DIRECTORY, PathOpener, open_directory, parent_of
from nacre.protected_paths.quarantine import QUARANTINED

_NAME_MAX_BYTES = 180
"""Bytes of an old name that a new one keeps: a name has room for 255."""
_COPIED_MAX_BYTES = 64 * 1024 * 1024


def read_file(path: str, most: int) -> bytes | None:
    """A regular file, not through a link."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return file.read(most)
    except OSError:
        return None


def rename_beside(path: str, why: str) -> str:
    """Give it a name that git does not look for; a sentence that says so."""
    try:
        with parent_of(path) as (parent, name):
            new = f"{_shorten(name)}{QUARANTINED}"
            if os.path.lexists(f"{os.path.dirname(path)}/{new}"):
                new = f"{_shorten(name)}-{os.urandom(4).hex()}{QUARANTINED}"
            os.rename(name, new, src_dir_fd=parent, dst_dir_fd=parent)
    except OSError as error:
        return f"{why}, is new, and could not be renamed: {error.strerror}."
    return f"{why}, and is new: {path} is now called {new}. Look at it before you use it."


def replace_file(name: str, parent: int, text: bytes, mode: int = 0o644) -> None:
    """Write a file and put it where another one, or a link, is."""
    spare = f".nacre-{os.getpid()}-{os.urandom(4).hex()}"
    fd = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=parent)
    try:
        with open(fd, "wb") as file:
            file.write(text)
            file.flush()
            os.fchmod(fd, mode)
        os.rename(spare, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(spare, dir_fd=parent)
        raise


def separate_file(path: str) -> str:
    """Make a file that has another name as well one of its own, with the same content; a sentence."""
    try:
        with parent_of(path) as (parent, name):
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            content = read_file(path, _COPIED_MAX_BYTES + 1)
            if status.st_nlink < 2:  # the other name is gone by now
                return ""
            if content is None or len(content) > _COPIED_MAX_BYTES:
                return rename_beside(path, f"{path} was made another name of a large file: git would write there")
            replace_file(name, parent, content, stat.S_IMODE(status.st_mode) & 0o777)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{path} was made another name of a file, and could not be separated: {error.strerror}."
    return f"{path} was made another name of a file, and is one of its own again: git would write there."


class QuarantineDirectory:
    """A directory in a git directory, made when the first thing is moved there. Git knows no such name."""

    def __init__(self, directory: str) -> None:
        self.path = f"{directory}/{os.urandom(4).hex()}{QUARANTINED}"
        self.count = 0
        self.failed = ""
        """Why something could not be moved."""
        self._fd = -1

    def __enter__(self) -> QuarantineDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def move(self, name: str, parent: int, label: str) -> None:
        try:
            if self._fd < 0:
                with parent_of(self.path) as (above, own):
                    os.mkdir(own, 0o700, dir_fd=above)
                    self._fd = os.open(own, DIRECTORY, dir_fd=above)
            new = f"{self.count}-{_shorten(label.replace('/', '+'))}"
            try:
                os.rename(name, new, src_dir_fd=parent, dst_dir_fd=self._fd)
            except PermissionError:  # a directory that moves has to be writable itself
                _open_to_owner(name, parent)
                os.rename(name, new, src_dir_fd=parent, dst_dir_fd=self._fd)
            self.count += 1
        except FileNotFoundError:
            pass
        except OSError as error:
            self.failed = error.strerror or str(error)

    def move_paths(self, paths: list[str], top: str) -> None:
        with PathOpener() as walk:
            for path in paths:
                with contextlib.suppress(OSError):
                    parent, name = walk.parent(path)
                    self.move(name, parent, path[len(top) + 1 :])


def _open_to_owner(name: str, parent: int) -> None:
    fd = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{fd}", 0o700)
    finally:
        os.close(fd)


@contextlib.contextmanager
def scan_open(path: str) -> Iterator[tuple[int, Iterator[os.DirEntry[str]]]]:
    """A directory, open, and its entries, one after the other."""
    with parent_of(path) as (parent, name), open_directory(name, parent) as fd, os.scandir(fd) as entries:
        yield fd, entries


def _shorten(name: str) -> str:
    return os.fsdecode(os.fsencode(name)[:_NAME_MAX_BYTES])
