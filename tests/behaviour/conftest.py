"""Fixtures for tests of behaviour."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a workspace directory with a file next to it."""
    made = tmp_path.resolve() / "place"
    made.mkdir()
    (made.parent / "outside").write_text("precious")
    return made
