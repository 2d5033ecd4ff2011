"""Reads standard input."""

from __future__ import annotations

from nacre.cli.common.usage import UsageError


def read_input() -> bytes:
    """Read standard input up to EOF. Raise UsageError if that fails."""
    try:
        with open(0, "rb", closefd=False) as file:
            return file.read()
    except OSError as error:
        raise UsageError(f"Cannot read standard input: {error.strerror}.", field="stdin") from error
