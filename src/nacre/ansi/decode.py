"""Decode bytes to text that is safe in JSON, and remove control characters.

`decode` keeps control characters for `render` to interpret; `clean` removes the rest. After both there is no NUL, no C0
but newline and tab, no DEL, no C1 and no lone surrogate. Both are idempotent.
"""

from __future__ import annotations

from nacre.base.lazy_regex import lazy_regex

NUL = "␀"
"""Replaces a NUL between words: entries listed by `find -print0` must not run together."""

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
    """Decode UTF-8; invalid bytes become U+FFFD, and a byte order mark at the beginning is removed."""
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


def wide_encoding(data: bytes) -> str:
    """Return the encoding of a byte order mark at the beginning, unless it is UTF-8; else empty."""
    return next((name for mark, name in _BOMS if data.startswith(mark)), "")


def decode_wide(data: bytes, encoding: str, offset: int = 0) -> str:
    """Decode a part of UTF-16 or UTF-32 text that begins `offset` bytes after the beginning of the text."""
    unit = 4 if encoding.startswith("utf-32") else 2
    return data[-offset % unit :].decode(encoding, "replace").removeprefix("\ufeff")


def is_plain(data: bytes) -> bool:
    """Return true if the only control characters are newline and tab, so that neither `render` nor `clean` changes the
    text."""
    if len(data.translate(None, _PLAIN_CONTROLS)) != len(data):
        return False
    return data.isascii() or b"\xc2" not in data or not _C1.search(decode(data))


def has_controls(text: str) -> bool:
    """Return true if `clean` would change the text."""
    return not text.isprintable() and _CONTROL.search(text) is not None


def clean(text: str) -> str:
    """Remove characters that break JSON, logs and terminals. A NUL is replaced by a visible symbol."""
    if not has_controls(text):
        return text
    return _SURROGATE.sub("\ufffd", _DROPPED.sub("", text.replace("\0", NUL)))
