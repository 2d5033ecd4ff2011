"""The answer to a tool call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nacre.base.frozen import field, frozen
from nacre.result import Result


@frozen(kw_only=True)
class Answer:
    """Result of a tool call, for the model and for programs."""

    text: str
    """Text for the model."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """The answer as plain data, for programs."""
    error: str = ""
    """Stable code of the error if the call itself failed: an invalid argument, or a command that the system could not
    start. Empty for a command that was refused, or that ran and failed."""
    result: Result | None = None
    """The complete Result; None if the call was invalid and nothing was run."""

    def __str__(self) -> str:
        return self.text
