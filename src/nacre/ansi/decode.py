"""Bytes → text that survives JSON, and the ground rules of what such text may hold.

`decode` leaves control characters where they are, for `terminal` to act on; `clean` takes the rest of them out. After
both there is no NUL, no C0 but newline and tab, no DEL, no C1 and no lone surrogate. Both are idempotent.
"""

from __future__ import annotations

from nacre.base.lazy_regex import lazy_regex

NUL = "␀"
"""Stands for a NUL between words: what `find -print0` lists must not run together."""

_PLAIN_CONTROLS = bytes([*range(9), *range(11, 32), 127])
_CONTROL = lazy_regex(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_DROPPED = lazy_regex(r"[\x01-\x08\x0b-\x1f\x7f-\x9f]+")
_SURROGATE = lazy_regex(r"[\ud800-\udfff]")
_C1 = lazy_regex(r"[\x80-\x9f]")
_BOMS = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)


def decode(data: bytes) -> str:
    """As UTF-8, what is invalid replaced by U+FFFD; a byte order mark at the beginning is not text."""
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


def wide_encoding(data: bytes) -> str:
    """The name of the encoding that a byte order mark at the beginning announces, when it is not UTF-8; else empty."""
    return next((name for mark, name in _BOMS if data.startswith(mark)), "")


def decode_wide(data: bytes, encoding: str, offset: int = 0) -> str:
    """A part of UTF-16 or UTF-32 that begins `offset` bytes after the beginning."""
    unit = 4 if encoding.startswith("utf-32") else 2
    return data[-offset % unit :].decode(encoding, "replace").removeprefix("\ufeff")


def is_plain(data: bytes) -> bool:
    """Whether its characters hold no control but newline and tab, so that neither `terminal` nor `clean` has work."""
    if len(data.translate(None, _PLAIN_CONTROLS)) != len(data):
        return False
    return data.isascii() or b"\xc2" not in data or not _C1.search(decode(data))


def has_controls(text: str) -> bool:
    """Whether `clean` would change it."""
    return not text.isprintable() and _CONTROL.search(text) is not None


def clean(text: str) -> str:
    """Without what JSON, logs and terminals stumble over: dropped, but a NUL becomes visible."""
    if not has_controls(text):
        return text
    return _SURROGATE.sub("\ufffd", _DROPPED.sub("", text.replace("\0", NUL)))
