"""Fixtures for tests of protected paths."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a directory whose path has no links."""
    made = tmp_path.resolve() / "place"
    made.mkdir()
    return made
