"""Fixtures for tests of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.tasks.tasks import Tasks
from tests.cli.nacre_program import Nacre


@pytest.fixture
def nacre(tmp_path: Path) -> Nacre:
    home = tmp_path / "home"
    home.mkdir()
    return Nacre(home)


@pytest.fixture
def tasks(nacre: Nacre) -> Iterator[Tasks]:
    """Yield the tasks of that home; kill those that are alive afterwards."""
    found = Tasks(nacre.state / "nacre" / "tasks")
    yield found
    for task in found.list():
        if task.alive:
            found.kill_sync(task.id, signal="KILL", grace=0)
