"""Creation times of files, which Python does not report on Linux: calls `statx` in the C library."""

from __future__ import annotations

import ctypes
import os
import struct
from functools import lru_cache
from typing import Any

_AT_FDCWD, _AT_SYMLINK_NOFOLLOW = -100, 0x100
_STATX_BTIME = 0x800
_STATX_BYTES = 256
_BTIME = struct.Struct("qI")
_BTIME_OFFSET = 80


def birth_ns(path: str) -> int:
    """Return the creation time in nanoseconds since 1970; 0 if kernel, C library or file system does not know it."""
    if (statx := _statx()) is None:
        return 0
    found = ctypes.create_string_buffer(_STATX_BYTES)
    if statx(_AT_FDCWD, os.fsencode(path), _AT_SYMLINK_NOFOLLOW, _STATX_BTIME, found) != 0:
        return 0
    if not struct.unpack_from("I", found)[0] & _STATX_BTIME:
        return 0
    seconds, nanoseconds = _BTIME.unpack_from(found, _BTIME_OFFSET)
    return int(seconds * 1_000_000_000 + nanoseconds)


@lru_cache(maxsize=1)
def _statx() -> Any:
    """Return the C function; None with an old C library, or on another system."""
    return getattr(ctypes.CDLL(None), "statx", None)
