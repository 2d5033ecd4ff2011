"""Fixtures: the tool in its own directory, which also stores its tasks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from nacre import Bash, ToolContext
from nacre.views.answers import Answer

Ask = Callable[..., Awaitable[Answer]]


@pytest.fixture
def phoenix() -> Bash:
    return Bash("phoenix")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "place").mkdir()
    return tmp_path / "place"


@pytest.fixture
def ctx(tmp_path: Path, place: Path) -> ToolContext:
    return ToolContext(working_dir=place, output_dir=tmp_path / "kept")


@pytest.fixture
def ask(phoenix: Bash, ctx: ToolContext) -> Ask:
    def call(command: str, **more: object) -> Awaitable[Answer]:
        return phoenix.call({"command": command, **more}, ctx)

    return call
