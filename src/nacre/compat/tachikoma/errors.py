"""The errors of this interface.

PrimitiveError
├── Validation        the command is empty, blocked or dangerous, or an argument of the call is invalid
├── PathNotAllowed    a directory outside the context's allowed paths
├── CommandFailed     `bash_success` on a command that did not exit with 0
└── Io                the system could not start the command
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nacre.errors import NacreError

if TYPE_CHECKING:
    from nacre.compat.tachikoma.run import BashResult


class PrimitiveError(NacreError):
    """Base class of all errors of this interface."""


class Validation(PrimitiveError):
    """The command is empty, blocked or dangerous, or an argument of the call is invalid."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class PathNotAllowed(PrimitiveError):
    """The working directory is outside the context's allowed paths."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"Path not allowed: {self.path}"


class CommandFailed(PrimitiveError):
    """The command of `bash_success` did not exit with 0."""

    def __init__(self, exit_code: int, message: str, result: BashResult | None = None) -> None:
        super().__init__(exit_code, message, result)
        self.exit_code = exit_code
        self.message = message
        """Its stderr."""
        self.result = result
        """The full result."""

    def __str__(self) -> str:
        return f"Command failed with exit code {self.exit_code}: {self.message.strip()}"


class Io(PrimitiveError):
    """The system could not start the command."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
