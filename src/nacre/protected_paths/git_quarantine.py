"""Moves what a command has left in a git directory to names that git ignores, without following links or losing
data."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

from nacre.keeper.protocol.private_tmpdir import make_removable
from nacre.protected_paths.open_path import DIRECTORY, PathOpener, open_directory, parent_of
from nacre.protected_paths.quarantine import QUARANTINED, rename_quarantined, shorten_name

_COPIED_MAX_BYTES = 64 * 1024 * 1024


def read_file(path: str, most: int) -> bytes | None:
    """Return up to `most` bytes of a file; None if it cannot be opened, or is a link."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return file.read(most)
    except OSError:
        return None


def rename_beside(path: str, why: str) -> str:
    """Rename a file to a name that git does not look for. Return a sentence that starts with `why`."""
    try:
        with parent_of(path) as (parent, name):
            new = rename_quarantined(name, name, parent)
    except OSError as error:
        return f"{why}, is new, and could not be renamed: {error.strerror}."
    return f"{why}, and is new: {path} is now called {new}. Look at it before you use it."


def replace_file(name: str, parent: int, text: bytes, mode: int = 0o644) -> None:
    """Write a file and rename it over another file or link."""
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
    """Replace a file that has other names (hard links) by a copy. Return a sentence; empty if it has no other name."""
    try:
        with parent_of(path) as (parent, name):
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            content = read_file(path, _COPIED_MAX_BYTES + 1)
            if status.st_nlink < 2:  # the other name was removed meanwhile
                return ""
            if content is None or len(content) > _COPIED_MAX_BYTES:
                return rename_beside(path, f"{path} was made a hard link to a large file: git would write there")
            replace_file(name, parent, content, stat.S_IMODE(status.st_mode) & 0o777)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{path} was made a hard link to a file, and could not be separated: {error.strerror}."
    return f"{path} was made a hard link to a file, and is a separate file again: git would write there."


class QuarantineDirectory:
    """A directory in a git directory for moved entries, created with the first of them. Git ignores its name."""

    def __init__(self, directory: str) -> None:
        self.path = f"{directory}/{os.urandom(4).hex()}{QUARANTINED}"
        self.count = 0
        self.failed = ""
        """Reason why an entry could not be moved."""
        self._fd = -1

    def __enter__(self) -> QuarantineDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def move(self, name: str, parent: int, label: str) -> None:
        """Move an entry of the open directory `parent` here, under a new name made from `label`."""
        try:
            if self._fd < 0:
                with parent_of(self.path) as (above, own):
                    os.mkdir(own, 0o700, dir_fd=above)
                    self._fd = os.open(own, DIRECTORY, dir_fd=above)
            new = f"{self.count}-{shorten_name(label.replace('/', '+'))}"
            try:
                os.rename(name, new, src_dir_fd=parent, dst_dir_fd=self._fd)
            except PermissionError:  # moving a directory needs write permission on it
                make_removable(name, parent)
                os.rename(name, new, src_dir_fd=parent, dst_dir_fd=self._fd)
            self.count += 1
        except FileNotFoundError:
            pass
        except OSError as error:
            self.failed = error.strerror or str(error)

    def move_paths(self, paths: list[str], top: str) -> None:
        """Move paths below `top` here. A path that cannot be reached is skipped."""
        with PathOpener() as walk:
            for path in paths:
                with contextlib.suppress(OSError):
                    parent, name = walk.parent(path)
                    self.move(name, parent, path[len(top) + 1 :])


@contextlib.contextmanager
def scan_open(path: str) -> Iterator[tuple[int, Iterator[os.DirEntry[str]]]]:
    """Open a directory without following links. Yield its descriptor and an iterator over its entries."""
    with parent_of(path) as (parent, name), open_directory(name, parent) as fd, os.scandir(fd) as entries:
        yield fd, entries
