"""What asyncio looks for and does well without: `ssl`, which takes longer to load than all of our own code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_ssl() -> Iterator[None]:
    """For the time in which asyncio is loaded."""
    spare = "asyncio" not in sys.modules and "ssl" not in sys.modules
    if spare:
        sys.modules["ssl"] = None  # type: ignore[assignment]  # what Python documents for "cannot be imported"
    try:
        yield
    finally:
        if spare:
            del sys.modules["ssl"]
