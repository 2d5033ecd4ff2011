"""System calls that Python has no name for. OSError when one fails."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # loaded by the keeper: see keeper/wire.py
if TYPE_CHECKING:
    from ctypes import CDLL, Array, c_char

_libc: CDLL | None = None


def call(number: int, *arguments: int | bytes | Array[c_char]) -> int:
    """Bytes are passed by address; a buffer is for what the kernel writes."""
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
    """Python has no name for it."""
    import ctypes

    if ctypes.CDLL(None, use_errno=True).prctl(option, ctypes.c_ulong(value), address, 0, 0) < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
