r"""Rewrites messages with lone surrogates, which the SDK cannot read. Pure.

JSON may contain half of a surrogate pair as an escape (`"\ud800"`). The SDK's reader rejects the whole line for it,
including the message ID, so the client would wait for an answer that never comes. A tool call loses its arguments and
names the invalid one: replacing the surrogate would run another command than the one sent. In every other message it
is replaced by U+FFFD, with which no existing name matches.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from nacre.errors import InvalidRequest

_META = "nacre/bad_text"
"""Key in `_meta` with the name of the invalid argument."""
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def without_surrogates(line: bytes) -> bytes:
    """Return the line without lone surrogates; unchanged if it has none or is not valid JSON."""
    if not _SURROGATE.search(line):
        return line
    try:
        message = json.loads(line)
        field = _find_bad_field(message)
        if field is None:
            return line  # complete pairs: characters beyond U+FFFF
        return json.dumps(_rewrite(message, field)).encode() + b"\n"
    except (ValueError, RecursionError):
        return line  # left to the SDK


def check_text(meta: Mapping[str, Any] | None) -> None:
    """Raise InvalidRequest if the call had a lone surrogate."""
    field = (meta or {}).get(_META)
    if isinstance(field, str):
        raise InvalidRequest(
            "bad_text",
            f"`{field}` contains a lone surrogate, which is not a character.",
            field=field,
            hint="Send whole characters: both halves of a surrogate pair, or UTF-8.",
        )


def _rewrite(message: Any, field: str) -> Any:
    clean = _replace(message)
    if isinstance(clean, dict) and clean.get("method") == "tools/call" and isinstance(clean.get("params"), dict):
        meta = clean["params"].get("_meta")
        clean["params"]["arguments"] = {}
        clean["params"]["_meta"] = {**(meta if isinstance(meta, dict) else {}), _META: field}
    return clean


def _find_bad_field(value: Any, name: str = "") -> str | None:
    """Return the name of the innermost member whose name or string value has a lone surrogate; None if there is
    none."""
    if isinstance(value, str):
        return None if _is_text(value) else name
    if isinstance(value, dict):
        for key, each in value.items():
            if not _is_text(key):
                return _replace(key)  # type: ignore[no-any-return]
            if (found := _find_bad_field(each, key)) is not None:
                return found
    if isinstance(value, list):
        return next((found for each in value if (found := _find_bad_field(each, name)) is not None), None)
    return None


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _replace(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_replace(key): _replace(each) for key, each in value.items()}
    return [_replace(each) for each in value] if isinstance(value, list) else value
