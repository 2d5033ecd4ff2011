"""Find where UTF-8 data may be cut. Pure."""

from __future__ import annotations


def incomplete_suffix(data: bytes | bytearray | memoryview) -> int:
    """Return the number of trailing bytes that begin an incomplete character; 0 if they cannot become a valid one."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            return 0
        if byte >= 0xC0:
            needed = 2 if 0xC2 <= byte < 0xE0 else 3 if byte < 0xF0 else 4 if byte < 0xF5 else 0
            return back if needed > back else 0
    return 0


def continuation_prefix(data: bytes | bytearray | memoryview) -> int:
    """Return the number of leading bytes that continue a character begun before `data`."""
    for count, byte in enumerate(data[:3]):
        if byte & 0xC0 != 0x80:
            return count
    return min(3, len(data))
