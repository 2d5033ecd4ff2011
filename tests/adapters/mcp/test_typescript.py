"""The official TypeScript client, on which many agents are built, with both protocol versions."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.mcp.clients import ASKS, MODES, PYTHON, environment, package
from tests.support.lifeline import Lifeline
from tests.support.waiting import HANG_TIMEOUT_S

pytestmark = pytest.mark.mcp_tools

_CLIENT = Path(__file__).with_name("client.mjs")


def done_by(cwd: Path, mode: str, *calls: dict[str, Any]) -> dict[str, Any]:
    server = [PYTHON, "-W", "error", "-m", "nacre", "mcp"]
    command = ["node", str(_CLIENT), str(package("client")), mode, json.dumps(calls), *server]
    done = subprocess.run(command, capture_output=True, timeout=HANG_TIMEOUT_S, check=False, cwd=cwd, env=environment())
    assert done.returncode == 0, done.stderr.decode()
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("mode", MODES)
def test_typescript_client_handles_failure_error_and_elicitation(mode: str, tmp_path: Path) -> None:
    found = done_by(
        tmp_path,
        mode,
        {"tool": "Bash", "arguments": {"command": "echo hello; exit 3"}},
        {"tool": "TaskOutput", "arguments": {"task_id": "bash-00000000"}},
        {"tool": "Bash", "arguments": {"command": ASKS}},
    )
    failed, wrong, allowed = found["results"]
    assert found["version"] == ("2025-11-25" if mode == "legacy" else mode)
    assert found["tools"] == ["Bash", "TaskOutput", "KillShell", "TaskList", "TaskWait", "CheckCommand"]
    assert (failed.get("isError", False), failed["structuredContent"]["exit_code"]) == (False, 3)
    assert (wrong["isError"], wrong.get("structuredContent")) == (True, None)
    assert allowed["structuredContent"]["exit_code"] == 128  # git ran, and found no repository
    [question] = found["asked"]
    assert ASKS in question


@pytest.mark.parametrize("mode", MODES)
def test_call_cancelled_by_the_typescript_client_leaves_no_process(mode: str, tmp_path: Path, life: Lifeline) -> None:
    begun = tmp_path / "begun"
    command = f"{life.hold} trap '' TERM; (setsid sleep 600 &); touch {begun}; sleep 600"
    found = done_by(tmp_path, mode, {"tool": "Bash", "arguments": {"command": command}, "cancelAt": str(begun)})
    [result] = found["results"]
    assert "enough" in result["failed"]
    life.wait_over()
