"""The official inspector, which is another implementation of the protocol, on the command line."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.mcp.door import PYTHON, environment

pytestmark = pytest.mark.inspector


def inspect(cwd: Path, *words: str) -> dict[str, Any]:
    command = [os.environ["NACRE_MCP_INSPECTOR"], "--cli", PYTHON, "-m", "nacre", "mcp", *words]
    done = subprocess.run(command, capture_output=True, timeout=100, check=True, cwd=cwd, env=environment())
    return dict(json.loads(done.stdout))


def test_it_lists_the_tools(tmp_path: Path) -> None:
    found = inspect(tmp_path, "--method", "tools/list")
    assert [tool["name"] for tool in found["tools"]][:2] == ["Bash", "TaskOutput"]


def test_it_runs_a_command_that_fails(tmp_path: Path) -> None:
    found = inspect(
        tmp_path, "--method", "tools/call", "--tool-name", "Bash", "--tool-arg", "command=echo hello; exit 3"
    )
    assert (found["isError"], found["structuredContent"]["exit_code"]) == (False, 3)


def test_it_is_refused(tmp_path: Path) -> None:
    found = inspect(tmp_path, "--method", "tools/call", "--tool-name", "Bash", "--tool-arg", "command=rm -rf ~")
    assert found["structuredContent"]["outcome"]["rule"] == "rm-root-or-home"
