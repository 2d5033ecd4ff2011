"""Imports asyncio without `ssl`, which asyncio can do without and which takes longer to load than all of nacre."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_ssl() -> Iterator[None]:
    """Make `import ssl` fail while asyncio is being imported. Does nothing if either is loaded already."""
    spare = "asyncio" not in sys.modules and "ssl" not in sys.modules
    if spare:
        sys.modules["ssl"] = None  # type: ignore[assignment]  # documented: the import then fails
    try:
        yield
    finally:
        if spare:
            del sys.modules["ssl"]
