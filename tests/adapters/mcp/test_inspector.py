"""The official inspector on the command line: an independent client of the older revisions."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.mcp.clients import PYTHON, environment, node, start_http_server
from tests.support.waiting import HANG_TIMEOUT_S

pytestmark = pytest.mark.mcp_tools

TOKEN = "a-token-of-the-test-4711"


def inspect(cwd: Path, *words: str) -> dict[str, Any]:
    command = [*node("inspector-cli/build/cli.js"), "--cli", *words]
    done = subprocess.run(command, capture_output=True, timeout=HANG_TIMEOUT_S, check=False, cwd=cwd, env=environment())
    assert done.returncode == 0, done.stderr.decode()
    return dict(json.loads(done.stdout))


def over_stdio(cwd: Path, *words: str) -> dict[str, Any]:
    return inspect(cwd, PYTHON, "-m", "nacre", "mcp", *words)


def tool_call_arguments(*arguments: str, tool: str = "Bash") -> list[str]:
    return ["--method", "tools/call", "--tool-name", tool, *(f"--tool-arg={each}" for each in arguments)]


def test_inspector_lists_the_tools(tmp_path: Path) -> None:
    found = over_stdio(tmp_path, "--method", "tools/list")
    names = [tool["name"] for tool in found["tools"]]
    assert names == ["Bash", "TaskOutput", "KillShell", "TaskList", "TaskWait", "CheckCommand"]


def test_inspector_runs_a_command_that_fails(tmp_path: Path) -> None:
    found = over_stdio(tmp_path, *tool_call_arguments("command=echo hello; exit 3"))
    assert (found["isError"], found["structuredContent"]["exit_code"]) == (False, 3)


def test_inspector_accepts_an_error_without_structured_content(tmp_path: Path) -> None:
    """Its client (TypeScript SDK 1.x) validates structured content of errors, too, and would fail."""
    found = over_stdio(tmp_path, *tool_call_arguments("task_id=bash-00000000", tool="TaskOutput"))
    assert found["isError"]
    assert "structuredContent" not in found


@pytest.mark.linux
def test_inspector_gets_a_refusal_with_its_rule(tmp_path: Path) -> None:
    found = over_stdio(tmp_path, "--access", "restricted", *tool_call_arguments("command=rm -rf ~"))
    assert found["structuredContent"]["outcome"]["rule"] == "rm-root-or-home"


def test_inspector_connects_over_http_with_the_token(tmp_path: Path) -> None:
    with start_http_server(cwd=tmp_path, token=TOKEN) as (url, _):
        header = f"--header=Authorization: Bearer {TOKEN}"
        found = inspect(tmp_path, url, "--transport", "http", header, *tool_call_arguments("command=pwd"))
    assert found["content"] == [{"type": "text", "text": str(tmp_path)}]
