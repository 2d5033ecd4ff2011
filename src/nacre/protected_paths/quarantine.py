"""Renames what may not stay, so that no program looks for it. Nothing is lost: it may be the user's.

New names end in `.nacre-quarantined`, so that neither git nor an agent takes the file for a hook, a rule or a
configuration. They contain a digest of the content: identical content is kept once, however often a command creates it.
"""

from __future__ import annotations

import contextlib
import os
import stat

from nacre.keeper.protocol.private_tmpdir import remove_below
from nacre.protected_paths.open_path import open_directory

QUARANTINED = ".nacre-quarantined"
"""Suffix of quarantined names."""
_DIGEST_CHARACTERS = 8
"""Characters of the digest in a name. The comparison uses the whole digest."""
_NAME_MAX_BYTES = 255 - _DIGEST_CHARACTERS - len(QUARANTINED) - 1
"""Bytes of the old name that the new name keeps: the limit on a name is 255."""
_DIGEST_MAX_BYTES = 1024 * 1024
_DIGEST_MAX_ENTRIES = 200
"""Larger files and directories are renamed without reading them: that takes the same time for a million files."""
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def quarantine(moved: str, name: str, parent: int) -> str:
    """Quarantine `moved`, an entry of the open directory `parent` whose name was `name`. Return a sentence about it;
    empty if it is identical to the present `name`. Links are removed, since the sentence has the target; so are extra
    hard links, pipes, sockets, devices, and anything empty."""
    status = os.stat(moved, dir_fd=parent, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        target = os.readlink(moved, dir_fd=parent)
        os.unlink(moved, dir_fd=parent)
        return f"What was there was a link to {target}."
    if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        os.unlink(moved, dir_fd=parent)
        return "What was there was a hard link to a file, which remains."
    if stat.S_ISREG(status.st_mode) and not status.st_size:
        os.unlink(moved, dir_fd=parent)
        return "What was there was empty."
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        os.unlink(moved, dir_fd=parent)
        return "What was there was a pipe, a socket or a device."
    if stat.S_ISDIR(status.st_mode):
        with contextlib.suppress(OSError):  # it is not empty
            os.rmdir(moved, dir_fd=parent)
            return "What was there was empty."
    digest = _digest(moved, parent)
    if digest and moved != name and digest == _digest(name, parent):
        remove_below(moved, parent)
        return ""
    mark = digest[:_DIGEST_CHARACTERS] or _random_mark()
    kept = _quarantine_name(name, mark)
    if digest and digest == _digest(kept, parent):
        remove_below(moved, parent)
        return f"What was there is the same as {kept}."
    return f"What was there is now called {rename_quarantined(moved, name, parent, mark)}."


def rename_quarantined(moved: str, name: str, parent: int, mark: str = "") -> str:
    """Rename `moved`, an entry of the open directory `parent`, to a quarantined name made of `name` and `mark`. Return
    the new name, which has a random mark if that one is taken."""
    new = _quarantine_name(name, mark)
    if _is_there(new, parent):
        new = _quarantine_name(name, _random_mark())
    os.rename(moved, new, src_dir_fd=parent, dst_dir_fd=parent)
    return new


def shorten_name(name: str) -> str:
    """Return the part of a name that still fits when a mark and a suffix are added."""
    return os.fsdecode(os.fsencode(name)[:_NAME_MAX_BYTES])


def _quarantine_name(name: str, mark: str) -> str:
    return f"{shorten_name(name)}{'-' if mark else ''}{mark}{QUARANTINED}"


def _random_mark() -> str:
    return os.urandom(_DIGEST_CHARACTERS // 2).hex()


def _is_there(name: str, parent: int) -> bool:
    try:
        os.stat(name, dir_fd=parent, follow_symlinks=False)
    except OSError:
        return False
    return True


def _digest(name: str, parent: int) -> str:
    """Return a digest of types, names and contents, without permissions and times. Empty if there is too much, or it
    cannot be read."""
    rows: list[bytes] = []
    try:
        return _hash(rows) if _read(name, parent, rows, _DIGEST_MAX_BYTES) is not None else ""
    except OSError:
        return ""


def _hash(rows: list[bytes]) -> str:
    from hashlib import sha256  # slow to import and hardly ever needed

    return sha256(b"".join(b"%d:%b" % (len(row), row) for row in rows)).hexdigest()


def _read(name: str, parent: int, rows: list[bytes], room: int) -> int | None:
    """Add the content to `rows`. Return the bytes of `room` that are left; None if it is too much, or neither a file, a
    directory nor a link."""
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    rows.append(b"%o" % stat.S_IFMT(status.st_mode))
    if len(rows) > _DIGEST_MAX_ENTRIES * 3:
        return None
    if stat.S_ISLNK(status.st_mode):
        rows.append(os.fsencode(os.readlink(name, dir_fd=parent)))
        return room
    if stat.S_ISREG(status.st_mode):
        if status.st_size > room:
            return None
        with open(os.open(name, _FILE, dir_fd=parent), "rb") as file:
            rows.append(file.read(room + 1))
        return None if len(rows[-1]) > room else room - len(rows[-1])
    if not stat.S_ISDIR(status.st_mode):
        return None
    with open_directory(name, parent) as fd:
        return _read_entries(fd, rows, room)


def _read_entries(fd: int, rows: list[bytes], room: int) -> int | None:
    names: list[str] = []
    with os.scandir(fd) as entries:
        for entry in entries:
            if len(names) == _DIGEST_MAX_ENTRIES:
                return None
            names.append(entry.name)
    rows.append(b"%d" % len(names))
    left: int | None = room
    for name in sorted(names):
        rows.append(os.fsencode(name))
        if left is None or (left := _read(name, fd, rows, left)) is None:
            return None
    return left
