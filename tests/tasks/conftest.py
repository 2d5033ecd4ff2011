"""Fixtures: a task store for each test, and fake keepers that are stopped after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nacre.tasks.tasks import Tasks
from tests.support.fake_keeper import FakeKeeper

Serve = Callable[..., FakeKeeper]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "tasks"


@pytest.fixture
def tasks(store: Path) -> Tasks:
    return Tasks(store)


@pytest.fixture
def serve(store: Path) -> Iterator[Serve]:
    """Yield a function that creates a task with a keeper."""
    keepers: list[FakeKeeper] = []

    def start(**options: Any) -> FakeKeeper:
        keepers.append(FakeKeeper(store, **options))
        return keepers[-1]

    yield start
    for keeper in keepers:
        keeper.die()
