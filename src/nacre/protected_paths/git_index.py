"""Reads the paths of gitlinks from a git index: `git status` looks into the repositories there. Pure.

An index with a path that git never writes, such as `../file` or `.git/hooks/x`, counts as unreadable: `git restore .`
would write there.

Entries are located as git does it, by their stated lengths. The hash size, 20 or 32 bytes, is not in the file but in
the configuration of the repository.
"""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

_EXTENDED = 0x4000
"""Flag of an entry that has two more bytes of flags."""
_NAME_MASK = 0xFFF
"""Bits of the flags with the length of the name; all set if it is longer."""
_MAY_BE_FORBIDDEN = re.compile(rb"//|/\.(?:\.|[gG][iI][tT])?[/\0]")
"""Searched in the whole index: only paths that match, or that start with a dot or a slash, are checked one by one."""
_FORBIDDEN = re.compile(rb"(?:^|/)(?:\.\.?|\.git|)(?:/|$)", re.IGNORECASE)
"""Matches a path that git never writes."""
_DOT_OR_SLASH = b"./"


class Index(NamedTuple):
    """The gitlinks of an index, and the shared indexes that it extends."""

    gitlinks: tuple[str, ...]
    """Paths relative to the top of the working tree."""
    is_unnamed: bool
    """A gitlink takes its path from a shared index, so it may be any of the paths there."""
    shared: tuple[str, ...]
    """Hashes in the file names of the shared indexes that this one extends."""


def read_index(data: bytes, hash_size: int, *, with_files: bool = False) -> Index:
    """Parse an index. Raises ValueError if it cannot be read with certainty. `with_files`: return every path as a
    gitlink."""
    if not data:
        return Index((), False, ())
    if data[:4] != b"DIRC" or len(data) < 12 + hash_size:
        raise ValueError("no index")
    version, count = struct.unpack_from(">II", data, 4)
    if version not in (2, 3, 4):
        raise ValueError(f"an index of version {version}")
    read = _read_packed if version == 4 else _read_padded
    try:
        found, restarts, at = read(data, count, hash_size, with_files)
        shared = _read_extensions(data, at, hash_size, restarts)
    except (struct.error, IndexError) as error:
        raise ValueError("an index that is not as git writes it") from error
    paths = dict.fromkeys(path.decode("utf-8", "surrogateescape") for path in found if path)
    return Index(tuple(paths), b"" in found, tuple(shared))


def _read_padded(data: bytes, count: int, hash_size: int, with_files: bool) -> tuple[list[bytes], set[int], int]:
    """Read versions 2 and 3. Return the gitlinks, an empty set, and the offset at which the entries end."""
    found: list[bytes] = []
    unpack = struct.Struct(f">26xB{13 + hash_size}xH").unpack_from  # a byte of the mode, and the flags
    suspects = (match.start() for match in _MAY_BE_FORBIDDEN.finditer(data))
    suspect = next(suspects, len(data))
    at, fixed = 12, 42 + hash_size
    for _ in range(count):
        mode, flags = unpack(data, at)
        length, begin = flags & _NAME_MASK, at + fixed
        if flags & _EXTENDED:
            begin += 2
        if length == _NAME_MASK:
            length = data.index(0, begin) - begin
        if data[begin + length]:
            raise ValueError("a path in an index that git does not write")
        while suspect < begin:
            suspect = next(suspects, len(data))
        if suspect < begin + length or data[begin] in _DOT_OR_SLASH:
            _refuse_forbidden(data[begin : begin + length])
        if mode & 0xF0 == 0xE0 or with_files:
            found.append(data[begin : begin + length].partition(b"\0")[0])
        at += (begin - at + length + 8) & ~7
    return found, set(), at


def _read_packed(data: bytes, count: int, hash_size: int, with_files: bool) -> tuple[list[bytes], set[int], int]:
    """Read version 4, where each path shares a prefix with the previous one. Return the gitlinks, the offsets of
    entries that share nothing, and the offset at which the entries end."""
    found: list[bytes] = []
    restarts: set[int] = set()
    unpack = struct.Struct(f">26xB{13 + hash_size}xH").unpack_from
    at, path = 12, b""
    for _ in range(count):
        mode, flags = unpack(data, at)
        length, begin = flags & _NAME_MASK, at + 42 + hash_size + (2 if flags & _EXTENDED else 0)
        dropped, begin = _read_varint(data, begin)
        if dropped > len(path):
            raise ValueError("a path shares more with the previous path than that has")
        kept = path[: len(path) - dropped]
        if not kept:
            restarts.add(at)
        end = data.index(0, begin) if length == _NAME_MASK else begin + length - len(kept)
        if end < begin:
            raise ValueError("a path is shorter than the part shared with the previous one")
        path = kept + data[begin:end]
        _refuse_forbidden(path)
        if mode & 0xF0 == 0xE0 or with_files:
            found.append(path.partition(b"\0")[0])
        at = end + 1
    return found, restarts, at


def _refuse_forbidden(path: bytes) -> None:
    """Raise ValueError for a path that git never writes. A directory of a sparse index ends with a slash; a path that
    is in a shared index is empty."""
    if path and _FORBIDDEN.search(path.partition(b"\0")[0].removesuffix(b"/")):
        raise ValueError("a path in an index that git does not write")


def _read_extensions(data: bytes, at: int, hash_size: int, restarts: set[int]) -> list[str]:
    """Return the hashes of shared indexes. Raises ValueError if git might start reading at another offset."""
    shared: list[str] = []
    begin, end = at, len(data) - hash_size
    if at > end:
        raise ValueError("entries beyond the end")
    while at < end:
        name, size = data[at : at + 4], struct.unpack_from(">I", data, at + 4)[0]
        body = data[at + 8 : at + 8 + size]
        at += 8 + size
        if at > end:
            raise ValueError("an extension beyond the end")
        if name == b"link":
            shared.append(body[:hash_size].hex())
        elif name == b"EOIE" and struct.unpack_from(">I", body)[0] != begin:
            raise ValueError("extensions in more than one place")
        elif name == b"IEOT" and data[7] == 4:
            starts = {struct.unpack_from(">I", body, each)[0] for each in range(4, len(body) - 7, 8)}
            if not starts <= restarts:
                raise ValueError("a block of paths that begins in the middle of one")
    return shared


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Decode a number in git's offset encoding. Return it and the offset at which it ends."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1
