"""Fixtures: the tool as an agent uses it, with a workspace and a directory for long output."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from nacre.compat.yoi import BashTool, ToolOutput

Execute = Callable[..., Awaitable[ToolOutput]]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    """Return a path that does not exist yet."""
    return tmp_path / "outputs"


@pytest.fixture
def tool(workspace: Path, outputs: Path) -> Iterator[BashTool]:
    with BashTool(workspace, outputs) as tool:
        yield tool


@pytest.fixture
def execute(tool: BashTool) -> Execute:
    def call(command: str, **more: object) -> Awaitable[ToolOutput]:
        return tool.execute(json.dumps({"command": command, **more}))

    return call
