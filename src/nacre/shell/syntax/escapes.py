r"""Decode the escapes of `$'…'`, `echo -e` and `printf`."""

from __future__ import annotations

import re

from nacre.base.lazy_regex import lazy_regex

_PLAIN = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_ESCAPE = lazy_regex(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(\\\\|.)|(.))", re.S
)


def ansi_c(text: str) -> str:
    """Decode the characters between the quotes of `$'…'`."""
    if "\\" not in text:
        return text
    decoded = _ESCAPE.sub(_decode, text)
    if not decoded.isascii():  # several escapes may be the bytes of one character
        decoded = decoded.encode(errors="surrogateescape").decode(errors="surrogateescape")
    return decoded.partition("\0")[0]  # a null character ends the text, as in C


def _decode(found: re.Match[str]) -> str:
    byte, number, octal, control, plain = found[1], found[2] or found[3], found[4], found[5], found[6]
    if byte or octal:
        code = int(byte, 16) if byte else int(octal, 8) & 0xFF
        return chr(code) if code < 0x80 else chr(0xDC00 + code)
    if number:
        return _character(int(number, 16))
    if control:
        return chr(ord(control[0].upper()) & 0x1F) if control != "?" else "\x7f"
    return _PLAIN.get(plain, "\\" + plain)


def _character(code: int) -> str:
    return chr(code) if code < 0xD800 or 0xDFFF < code < 0x110000 else "\ufffd"
