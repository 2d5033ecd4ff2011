"""Dumps as `xxd`, `od` and `hexdump` write them, for machines without those programs: bytes in, text out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

_ESCAPES = {0: "\\0", 7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}


def _rows(data: bytes, size: int = 16) -> Iterator[tuple[int, bytes]]:
    for at in range(0, len(data), size):
        yield at, data[at : at + size]


def _text(row: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)


def xxd(data: bytes, columns: int = 16, group: int = 2) -> str:
    width = 2 * columns + (columns - 1) // group
    return "".join(
        f"{at:08x}: {' '.join(part.hex() for _, part in _rows(row, group)):{width}}  {_text(row)}\n"
        for at, row in _rows(data, columns)
    )


def xxd_words(data: bytes) -> str:
    """Return the output of `xxd -e`."""
    return "".join(
        f"{at:08x}: {' '.join(f'{part[::-1].hex():>8}' for _, part in _rows(row, 4)):35}  {_text(row)}\n"
        for at, row in _rows(data)
    )


def xxd_plain(data: bytes) -> str:
    return "".join(f"{row.hex()}\n" for _, row in _rows(data, 30))


def hexdump_canonical(data: bytes) -> str:
    lines = (f"{at:08x}  {row[:8].hex(' '):23}  {row[8:].hex(' '):23}  |{_text(row)}|\n" for at, row in _rows(data))
    return f"{''.join(lines)}{len(data):08x}\n"


def hexdump(data: bytes) -> str:
    return _in_words(data, 2, "04x", "07x")


def od(data: bytes) -> str:
    return _in_words(data, 2, "06o", "07o")


def od_bytes(data: bytes) -> str:
    """Return the output of `od -An -tx1`."""
    return "".join(f" {row.hex(' ')}\n" for _, row in _rows(data))


def od_decimals(data: bytes) -> str:
    """Return the output of `od -tu1`."""
    return (
        "".join(f"{at:07o}{''.join(f'{byte:4}' for byte in row)}\n" for at, row in _rows(data)) + f"{len(data):07o}\n"
    )


def od_characters(data: bytes) -> str:
    """Return the output of `od -c`."""

    def cell(byte: int) -> str:
        return chr(byte) if 32 <= byte < 127 else _ESCAPES.get(byte, f"{byte:03o}")

    lines = (f"{at:07o}{''.join(f'{cell(byte):>4}' for byte in row)}\n" for at, row in _rows(data))
    return f"{''.join(lines)}{len(data):07o}\n"


def od_both(data: bytes) -> str:
    """Return the output of `od -tx1z`."""
    lines = (f"{at:07o} {row.hex(' '):47}  >{_text(row)}<\n" for at, row in _rows(data))
    return f"{''.join(lines)}{len(data):07o}\n"


def _in_words(data: bytes, size: int, word: str, offset: str) -> str:
    lines = []
    for at, row in _rows(data):
        words = [int.from_bytes(part, "little") for _, part in _rows(row, size)]
        lines.append(f"{at:{offset}} {' '.join(f'{each:{word}}' for each in words)}\n")
    return f"{''.join(lines)}{len(data):{offset}}\n"


DUMPS: dict[str, Callable[[bytes], str]] = {
    "xxd": xxd,
    "xxd -g1": lambda data: xxd(data, 16, 1),
    "xxd -c7": lambda data: xxd(data, 7),
    "xxd -e": xxd_words,
    "xxd -p": xxd_plain,
    "hexdump": hexdump,
    "hexdump -C": hexdump_canonical,
    "od": od,
    "od -An -tx1": od_bytes,
    "od -tu1": od_decimals,
    "od -c": od_characters,
    "od -tx1z": od_both,
}
"""Each function, by the command whose output it reproduces."""
