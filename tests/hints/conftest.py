"""Fixtures for tests of hints."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hints.failures import program


@pytest.fixture
def project_dir(tmp_path: Path) -> Path:
    """Return a project with its own programs in PATH."""
    for name in ("src", "src/pkg", "bin", "repo/.git", "empty"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("README.md", "src/main.py", "src/pkg/deep.py", "src/one.txt", "empty/one.txt"):
        (tmp_path / name).write_text("x")
    for name in ("git", "python3", "ls", "serve"):
        program(tmp_path / "bin" / name)
    return tmp_path
