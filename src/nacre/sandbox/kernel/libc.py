"""System calls that Python has no function for. They raise OSError on failure."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # loaded by the keeper: importing `typing` would add 5 ms to its start
if TYPE_CHECKING:
    from ctypes import CDLL, Array, c_char

_libc: CDLL | None = None


def call(number: int, *arguments: int | bytes | Array[c_char]) -> int:
    """Make the system call `number` and return its result. Bytes are passed by address; the kernel may write to a
    buffer."""
    global _libc
    import ctypes

    if _libc is None:
        _libc = ctypes.CDLL(None, use_errno=True)
        _libc.syscall.restype = ctypes.c_long
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    answer: int = _libc.syscall(ctypes.c_long(number), *words)
    if answer < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return answer


def prctl(option: int, value: int, address: bytes | int = 0) -> None:
    """Call prctl(2), for which Python has no function."""
    import ctypes

    if ctypes.CDLL(None, use_errno=True).prctl(option, ctypes.c_ulong(value), address, 0, 0) < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
