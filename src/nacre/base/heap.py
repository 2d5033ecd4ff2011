"""Return the memory that large outputs have freed to the system.

glibc serves a large buffer with `mmap` only until the first one of its size is freed; from then on such buffers come
from the heap, and the free space that they leave between small live blocks stays with the process. A host under a mixed
load held 30 to 80 MB that way, of which 27 MB were in use. `malloc_trim` returns this memory. It walks the heap of the
whole program, so it is called only after large outputs, and takes at most a hundredth of the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable

_LARGE_OUTPUT_BYTES = 256 * 1024
_MIN_PAUSE_S = 2.0
_PAUSE_PER_COST = 100

_is_due = False
_next_s = 0.0
_trim: Callable[[int], int] | None = None


def note_output(count: int) -> None:
    """Note that a run has ended that printed `count` bytes.

    Trims the heap if an earlier run's output was large and the pause since the last trim is over.
    """
    global _is_due, _next_s
    if _is_due and (began := time.monotonic()) >= _next_s:
        _is_due = False
        _trim_heap()
        cost = time.monotonic() - began
        _next_s = began + cost + max(_MIN_PAUSE_S, _PAUSE_PER_COST * cost)
    if count >= _LARGE_OUTPUT_BYTES:
        _is_due = True


def _trim_heap() -> None:
    """Call `malloc_trim`. Does nothing if the C library has no such function."""
    global _trim
    if _trim is None:
        import ctypes  # takes 10 ms to load

        try:
            _trim = ctypes.CDLL(None).malloc_trim
        except (AttributeError, OSError):
            _trim = int
    _trim(0)
