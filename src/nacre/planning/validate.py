"""Check single arguments of a caller. `InvalidRequest` says what is wrong."""

from __future__ import annotations

import os

from nacre.errors import InvalidRequest
from nacre.types import StrPath


def encode_text(text: str, field: str, *, nul_allowed: bool = False) -> bytes:
    """Encode text as UTF-8, with escaped bytes restored. InvalidRequest: it contains a NUL byte or a lone surrogate."""
    if "\0" in text and not nul_allowed:
        raise InvalidRequest(
            "nul_byte",
            f"`{field}` contains a NUL byte, which a shell cannot read.",
            field=field,
            hint="Remove it; use printf '\\0' in the command to produce one.",
        )
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            "bad_text",
            f"`{field}` contains a lone surrogate at position {error.start}, which is not a character.",
            field=field,
            hint="Decode the text properly before passing it on.",
        ) from error


def check_choice(value: str, choices: tuple[str, ...], field: str) -> str:
    """Return the value if it is one of the choices, else raise InvalidRequest."""
    if value not in choices:
        raise InvalidRequest(
            f"bad_{field}", f"`{field}` is {value!r}.", field=field, hint=f"Use one of {', '.join(choices)}."
        )
    return value


def check_byte_count(value: int, field: str, *, least: int = 0) -> int:
    """Return the value if it is an integer of at least `least`, else raise InvalidRequest."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        hint = f"Give a number of bytes, at least {least:,}." if least else "Give a number of bytes."
        raise InvalidRequest("bad_limit", f"`{field}` is {value!r}.", field=field, hint=hint)
    return value


def check_path(path: StrPath, field: str) -> str:
    """Return a path as a non-empty string, else raise InvalidRequest."""
    try:
        given = os.fspath(path)
    except TypeError:
        given = None
    if not isinstance(given, str) or not given:
        raise InvalidRequest(f"bad_{field}", f"`{field}` is {path!r}.", field=field, hint="Give a path as a string.")
    encode_text(given, field)
    return given


def absolute(path: StrPath, field: str) -> str:
    """Return a path as absolute path, resolved against this process's working directory."""
    return os.path.abspath(check_path(path, field))
