"""Give memory that large outputs have left free back to the system.

glibc maps a large buffer by itself only until the first of its size is freed; from then on such buffers come from the
heap, and what they leave free between small blocks that live on stays with the process. A host under a mixed load held
30 to 80 MB that way, of which 27 were in use. `malloc_trim` returns it. It goes over the heap of the whole program, so
it is called only after large outputs, and takes a hundredth of the time at most.
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
    """A run has ended that printed `count` bytes. Trims the heap if a run before it was large and the pause is over."""
    global _is_due, _next_s
    if _is_due and (began := time.monotonic()) >= _next_s:
        _is_due = False
        _trim_heap()
        cost = time.monotonic() - began
        _next_s = began + cost + max(_MIN_PAUSE_S, _PAUSE_PER_COST * cost)
    if count >= _LARGE_OUTPUT_BYTES:
        _is_due = True


def _trim_heap() -> None:
    """Does nothing where the C library has no such function."""
    global _trim
    if _trim is None:
        import ctypes  # takes 10 ms to load

        try:
            _trim = ctypes.CDLL(None).malloc_trim
        except (AttributeError, OSError):
            _trim = int
    _trim(0)
