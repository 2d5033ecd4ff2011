"""A git index in, the paths of its gitlinks out: `git status` looks into the repositories there. Pure."""

from __future__ import annotations

import struct

_GITLINK = 0o160000
_GITLINK_MODE = struct.pack(">I", _GITLINK)
_EXTENDED = 0x4000
"""A flag of an entry that has two more bytes of flags."""


def gitlinks_in(data: bytes) -> list[str]:
    """Paths from the top of the working tree. Empty for data that is no index."""
    if data[:4] != b"DIRC" or _GITLINK_MODE not in data:
        return []
    version, count = struct.unpack_from(">II", data, 4)
    for hash_size in (20, 32):
        try:
            return _parse(data, version, count, hash_size)
        except (struct.error, ValueError):
            continue
    return []


def _parse(data: bytes, version: int, count: int, hash_size: int) -> list[str]:
    """ValueError, struct.error: the hashes are of another size."""
    found: list[str] = []
    at, path = 12, b""
    for _ in range(count):
        (mode,) = struct.unpack_from(">I", data, at + 24)
        if mode >> 12 not in (0o10, 0o12, 0o16, 0o04):
            raise ValueError(mode)
        (flags,) = struct.unpack_from(">H", data, at + 40 + hash_size)
        begin = at + 42 + hash_size + (2 if flags & _EXTENDED else 0)
        if version == 4:
            dropped, begin = _varint(data, begin)
            end = data.index(b"\0", begin)
            path = path[: len(path) - dropped] + data[begin:end]
            at = end + 1
        else:
            end = data.index(b"\0", begin)
            path = data[begin:end]
            at += (end - at + 8) // 8 * 8
        if mode == _GITLINK:
            found.append(path.decode("utf-8", "surrogateescape"))
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Git's offset encoding: a number, and where it ends."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1
