"""What a tool call gives back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nacre.base.frozen import field, frozen
from nacre.result import Result


@frozen(kw_only=True)
class Answer:
    """What a tool call gives back."""

    text: str
    """For the model."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """The same as plain data, for programs."""
    error: str = ""
    """A stable code, when the call itself failed: a bad argument, a system that would not start it. Empty for a command
    that was refused, or ran and did not succeed."""
    result: Result | None = None
    """What happened, whole; None when the call could not be meant, and nothing was run."""

    def __str__(self) -> str:
        return self.text
