"""Fixtures for tests of nacre's interfaces to other programs."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.interface.program import Program

collect_ignore = [] if find_spec("mcp_types") else ["test_mcp_tools.py"]


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    """Yield `nacre` with a private home directory; kill its running tasks at the end."""
    found = Program(tmp_path / "home")
    yield found
    if (found.state / "tasks").exists():
        found.kill_tasks()
