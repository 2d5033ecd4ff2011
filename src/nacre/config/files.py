"""Read the settings files that exist, as bytes. Parses nothing."""

from __future__ import annotations

import os
import stat
from typing import TypeAlias

from nacre.base.frozen import frozen
from nacre.base.lazy_regex import lazy_regex
from nacre.errors import InvalidConfig

MAX_FILE_BYTES = 1 << 20
"""Settings files are never larger."""
_NACRE_TABLE = lazy_regex(r"""nacre["']?[ \t]*[\].=]|tool[ \t]*\.[ \t]*["']?nacre""")
"""Matches a key of that name, also in invalid TOML. Most projects have none, and their file is not parsed."""

FileLocation: TypeAlias = tuple[str, str, bool]
"""Path, kind of file, and whether it is a project's."""


@frozen
class File:
    """The contents of one settings file."""

    path: str
    data: bytes
    kind: str
    """`toml`, `pyproject` or `claude`."""
    project: bool = False


def files_at(places: list[FileLocation]) -> list[File]:
    """Return the files that exist and may contain settings. InvalidConfig: one cannot be read."""
    found = [_read(*place) for place in places]
    return [file for file in found if file is not None and (file.kind != "pyproject" or _has_nacre_table(file))]


def _has_nacre_table(file: File) -> bool:
    return _NACRE_TABLE.search(file.data.decode("utf-8", "replace")) is not None


def _read(path: str, kind: str, project: bool) -> File | None:
    """Return a file, or None if it does not exist.

    An unreadable file may forbid something, so it raises InvalidConfig.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError) as error:
        if any(os.path.islink(each) and not os.path.exists(each) for each in (path, os.path.dirname(path))):
            raise InvalidConfig("The file is a dangling symlink.", "Fix or remove it.", file=path) from error
        return None
    except OSError as error:
        raise InvalidConfig(f"Cannot read the file: {error.strerror}.", file=path) from error
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise InvalidConfig("This is not a regular file.", "Move or remove it.", file=path)
        data = b""
        while len(data) <= MAX_FILE_BYTES and (more := os.read(fd, MAX_FILE_BYTES)):
            data += more
    except OSError as error:
        raise InvalidConfig(f"Cannot read the file: {error.strerror}.", file=path) from error
    finally:
        os.close(fd)
    if len(data) > MAX_FILE_BYTES:
        raise InvalidConfig(f"The file is larger than {MAX_FILE_BYTES >> 20} MB.", file=path)
    return File(path, data, kind, project)
