"""Which files hold settings for a directory: paths in, their bytes out. Nothing is taken apart here.

The user's are `nacre/config.toml` of the configuration directory and `~/.claude/settings.json`. A project's are those
of the directory and of each one above it, up to a repository's root: `pyproject.toml`, `.claude/settings.json` and
`.claude/settings.local.json`. The home directory is no project.
"""

from __future__ import annotations

import os
import stat

from nacre.errors import InvalidConfig
from nacre.frozen import frozen
from nacre.system import config_directory

LARGEST = 1 << 20
"""Bytes; no settings are larger."""
_HIGHEST = 64
"""Directories above that are looked into."""


@frozen
class File:
    """One file of settings, as it is on the disk."""

    path: str
    data: bytes
    kind: str
    """`toml`, `pyproject` or `claude`."""
    project: bool = False


def files_for(cwd: str, home: str) -> list[File]:
    """The user's first, then the project's, from the nearest directory on."""
    mine = [
        _read(os.path.join(config_directory(), "config.toml"), "toml"),
        _read(os.path.join(home, ".claude", "settings.json"), "claude"),
    ]
    theirs = [file for directory in _above(cwd, home) for file in _in(directory)]
    return [file for file in (*mine, *theirs) if file is not None]


def _above(cwd: str, home: str) -> list[str]:
    found: list[str] = []
    home, directory = home.rstrip("/"), cwd
    while directory and directory != home and len(found) < _HIGHEST:
        found.append(directory)
        above = os.path.dirname(directory)
        if above == directory or os.path.lexists(os.path.join(directory, ".git")):
            break
        directory = above
    return found


def _in(directory: str) -> list[File | None]:
    settings = [
        _read(os.path.join(directory, ".claude", name), "claude", project=True)
        for name in ("settings.json", "settings.local.json")
    ]
    pyproject = _read(os.path.join(directory, "pyproject.toml"), "pyproject", project=True)
    if pyproject is not None and b"nacre" not in pyproject.data:  # most have no table of ours
        pyproject = None
    return [pyproject, *settings]


def _read(path: str, kind: str, *, project: bool = False) -> File | None:
    """None: there is no such file. One that is there and cannot be read may forbid something, and is an error."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InvalidConfig(f"It cannot be read: {error.strerror}.", file=path) from error
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise InvalidConfig("It is no file.", "Move it away.", file=path)
        data = b""
        while len(data) <= LARGEST and (more := os.read(fd, LARGEST)):
            data += more
    except OSError as error:
        raise InvalidConfig(f"It cannot be read: {error.strerror}.", file=path) from error
    finally:
        os.close(fd)
    if len(data) > LARGEST:
        raise InvalidConfig(f"It is larger than {LARGEST >> 20} MB.", file=path)
    return File(path, data, kind, project)
