"""Notations of bytes in dumps: convert words of a line to bytes, and a value to the words that it is dumped as. Pure.

Words of several bytes are little-endian, as on every machine that nacre runs on; only `xxd` groups bytes in the order
of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TypeAlias

from nacre.base.frozen import frozen

_LONG_GROUP = 6
"""Bytes of a word from which on its parts are searched for instead."""
_OCTAL_DIGITS = {1: 3, 2: 6, 4: 11, 8: 22}
"""Octal digits of a word, by its size in bytes."""
_CONTROLS = (
    "nul soh stx etx eot enq ack bel bs ht nl vt ff cr so si dle dc1 dc2 dc3 dc4 nak syn etb can em sub esc fs gs rs us"
)
NAMES = {name: code for code, name in enumerate(_CONTROLS.split())} | {"sp": 32, "del": 127}
"""Names that `od -a` writes."""
_ESCAPES = {"\\0": 0, "\\a": 7, "\\b": 8, "\\t": 9, "\\n": 10, "\\v": 11, "\\f": 12, "\\r": 13}
_CELL_NAMES = {code: name for name, code in NAMES.items()}
_CELL_ESCAPES = {code: name for name, code in _ESCAPES.items()}


Trace: TypeAlias = frozenset[str]


@frozen
class Notation:
    """A way in which dumps write bytes as words."""

    decode_word: Callable[[str], bytes]
    """Return the bytes of a word. Raise ValueError if it is not in this notation."""
    traces: Callable[[bytes], Iterator[Trace]]
    """Yield sets of words, at least one of which is complete in every dump of a value: a text without any is not
    examined."""
    parts: Callable[[bytes], Iterator[str]] | None = None
    """Yield parts of long words, at least one of which is in every dump of a value with such words."""
    cells: bool = False
    """True for characters in columns."""
    exact: bool = False
    """True if two digits show one byte, in order: a part of a word can be masked."""

    def decode(self, words: Sequence[str]) -> bytes:
        """Return the bytes of the words; empty if any word is not in this notation."""
        try:
            return b"".join(map(self.decode_word, words))
        except ValueError:
            return b""


def _groups(value: bytes, size: int) -> Iterator[list[bytes]]:
    """Yield the whole words of a value, for each offset at which the first of them may begin."""
    for begin in range(min(size, len(value) - size + 1)):
        yield [value[at : at + size] for at in range(begin, len(value) - size + 1, size)]


def _hex_traces(value: bytes) -> Iterator[Trace]:
    yield frozenset(f"{byte:02x}" for byte in value)
    yield frozenset(f"{byte:02X}" for byte in value)
    for size in range(2, _LONG_GROUP):
        for at in range(len(value) - size + 1):  # lines may end within groups and so shift them
            word = value[at : at + size].hex()
            yield frozenset((word,))
            yield frozenset((word.upper(),))
    yield frozenset(f"0x{byte:02x}," for byte in value[:-1])
    yield frozenset(f"0X{byte:02X}," for byte in value[:-1])


def _hex_parts(value: bytes) -> Iterator[str]:
    """Yield two parts: a line ends within at most one of them."""
    for at in (0, 3):
        part = value[at : at + 3].hex()
        yield from (part, part.upper())


def _little_hex_traces(value: bytes) -> Iterator[Trace]:
    for group in _groups(value, 2):
        words = frozenset(word[::-1].hex() for word in group)
        yield words
        yield frozenset(word.upper() for word in words)


def _little_hex_parts(value: bytes) -> Iterator[str]:
    """Yield parts, one of which is in every word of four or more bytes, at any alignment."""
    for at in range(4):
        part = value[at : at + 3][::-1].hex()
        yield from (part, part.upper())


def _hex(word: str) -> bytes:
    return bytes.fromhex(word if word[1:2] not in ("x", "X") else word[2:].rstrip(","))


def _little_hex(word: str) -> bytes:
    if len(word) > 16:
        raise ValueError("no word is so long")
    return _hex(word)[::-1]


def _octal(size: int) -> Notation:
    digits = _OCTAL_DIGITS[size]

    def decode(word: str) -> bytes:
        if len(word) != digits:
            raise ValueError("not so many digits")
        return _little(int(word, 8), size)

    def traces(value: bytes) -> Iterator[Trace]:
        for group in _groups(value, size):
            yield frozenset(f"{int.from_bytes(word, 'little'):0{digits}o}" for word in group)

    return Notation(decode, traces)


def _decimal(size: int) -> Notation:
    def decode(word: str) -> bytes:
        value = int(word[:24])
        return _little(value + (1 << 8 * size) if value < 0 else value, size)

    def traces(value: bytes) -> Iterator[Trace]:
        for group in _groups(value, size):
            numbers = [int.from_bytes(word, "little") for word in group]
            yield frozenset(map(str, numbers))
            yield frozenset(str(int.from_bytes(word, "little", signed=True)) for word in group)
            yield frozenset(f"{number:05}" for number in numbers)

    return Notation(decode, traces)


def _little(value: int, size: int) -> bytes:
    if not 0 <= value < 1 << 8 * size:
        raise ValueError("too large a number")
    return value.to_bytes(size, "little")


def _binary(word: str) -> bytes:
    if len(word) != 8:
        raise ValueError("not a byte")
    return _little(int(word, 2), 1)


def _binary_traces(value: bytes) -> Iterator[Trace]:
    yield frozenset(f"{byte:08b}" for byte in value)


def _cell(cell: str) -> bytes:
    if cell.startswith("   "):
        return cell[3].encode("utf-8", "surrogateescape")
    word = cell.strip()
    if word == "**":  # continuation of a multi-byte character
        return b""
    code = NAMES.get(word, _ESCAPES.get(word))
    return bytes([int(word, 8) if code is None else code])


def _cell_traces(value: bytes) -> Iterator[Trace]:
    for named in (False, True):
        yield frozenset(_in_cell(byte, named) for byte in value) - {" "}
    yield frozenset("".join(value.decode("utf-8", "surrogateescape").split()))  # `hexdump -c` shows characters whole


def _in_cell(byte: int, named: bool) -> str:
    if 32 < byte < 127 or (byte == 32 and not named):
        return chr(byte)
    return (_CELL_NAMES if named else _CELL_ESCAPES).get(byte, f"{byte:03o}")


NOTATIONS = (
    Notation(_hex, _hex_traces, _hex_parts, exact=True),
    Notation(_little_hex, _little_hex_traces, _little_hex_parts),
    *map(_octal, _OCTAL_DIGITS),
    *map(_decimal, (1, 2, 4, 8)),
    Notation(_binary, _binary_traces),
    Notation(_cell, _cell_traces, cells=True),
)


@lru_cache(maxsize=64)
def traces_of(values: tuple[bytes, ...]) -> tuple[tuple[Notation, tuple[Trace, ...], tuple[str, ...]], ...]:
    """Return each notation with its traces and parts of all these values."""
    return tuple(
        (
            notation,
            tuple({trace for value in values for trace in notation.traces(value)}),
            tuple({part for value in values for part in notation.parts(value)}) if notation.parts else (),
        )
        for notation in NOTATIONS
    )
