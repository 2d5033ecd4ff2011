r"""The escapes of `$'…'`, and of `echo -e` and `printf`."""

from __future__ import annotations

import re

_PLAIN = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|(0?[0-7]{1,3})|c(.)|(.))", re.S)


def ansi_c(text: str) -> str:
    """What the characters between the quotes of `$'…'` stand for."""
    return _ESCAPE.sub(_decode, text) if "\\" in text else text


def _decode(found: re.Match[str]) -> str:
    number, octal, control, plain = found[1] or found[2] or found[3], found[4], found[5], found[6]
    if number:
        return _character(int(number, 16))
    if octal:
        return _character(int(octal, 8) & 0xFF)
    if control:
        return chr(ord(control) & 0x1F)
    return _PLAIN.get(plain, "\\" + plain)


def _character(code: int) -> str:
    return chr(code) if code < 0x110000 else "\ufffd"
