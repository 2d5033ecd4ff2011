"""Converts answers to results of the protocol. Pure.

An invalid call is an error and has only text, because clients validate data against the tool's schema. Its code is in
`_meta`, for programs. A command that failed is not an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_types import CallToolResult, TextContent

from nacre.ansi.decode import clean
from nacre.errors import InvalidRequest, NacreError
from nacre.redact.redactor import Redactor
from nacre.views.answers import Answer, error_answer

CODE = "nacre/error"
"""Key in `_meta` of an error's code."""


def result_of(answer: Answer, *, shaped: bool) -> CallToolResult:
    """Return the result for an answer. `shaped`: its data matches the tool's output schema."""
    return to_result(answer.text, answer.data if shaped else None, error=answer.error)


def to_result(text: str, data: Mapping[str, Any] | None, *, error: str = "") -> CallToolResult:
    """Return a result with this text, structured content and error code."""
    return CallToolResult(
        content=[TextContent(text=clean(text))],
        structured_content=None if data is None else json_safe(dict(data)),
        is_error=bool(error),
        _meta={CODE: error} if error else None,
    )


def error_result(error: NacreError | OSError, redactor: Redactor) -> CallToolResult:
    """Return the result for an exception, secrets masked."""
    if isinstance(error, InvalidRequest):
        return result_of(error_answer(error, redactor=redactor), shaped=False)
    return to_result(redactor.mask(f"Error (failed): {error}"), None, error="failed")


def json_safe(data: Any) -> Any:
    """Return data that can be encoded as UTF-8 JSON: file names may contain lone surrogates, which are replaced."""
    if isinstance(data, str):
        return data if data.isascii() else data.encode("utf-8", "replace").decode()
    if isinstance(data, Mapping):
        return {str(name): json_safe(value) for name, value in data.items()}
    return [json_safe(value) for value in data] if isinstance(data, list | tuple) else data
