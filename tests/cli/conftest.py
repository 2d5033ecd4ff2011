"""Fixtures for the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.door import Nacre


@pytest.fixture
def nacre(tmp_path: Path) -> Nacre:
    home = tmp_path / "home"
    home.mkdir()
    return Nacre(home)
