"""Helpers for tests that need bubblewrap; skipped without it. `make test-containers` installs it and runs them."""

from __future__ import annotations

import pytest

from nacre.engines.bubblewrap import check
from nacre.errors import EngineUnavailable

BWRAP = pytest.param("bwrap", marks=pytest.mark.bubblewrap)
"""The bubblewrap engine as a test parameter."""


def skip_without_bubblewrap() -> None:
    try:
        check("bwrap")
    except EngineUnavailable as error:
        pytest.skip(f"needs bubblewrap: {error}")
