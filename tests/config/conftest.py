"""Fixtures for tests of the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.settings_files import Place


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(tmp_path, monkeypatch)
