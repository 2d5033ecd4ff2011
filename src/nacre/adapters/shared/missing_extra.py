"""The error for a missing framework."""

from __future__ import annotations


def missing_extra(extra: str, error: ImportError) -> ImportError:
    """Return the error for a framework that is missing or has another version. It names the extra to install."""
    return ImportError(f"{error}. This adapter needs: pip install 'nacre[{extra}]'", name=error.name)
