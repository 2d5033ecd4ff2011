"""What to say when a framework is missing."""

from __future__ import annotations


def missing_extra(extra: str, error: ImportError) -> ImportError:
    """For an adapter whose framework is not there, or not the one that it knows."""
    return ImportError(f"{error}. This adapter needs what comes with: pip install 'nacre[{extra}]'", name=error.name)
