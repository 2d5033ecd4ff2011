"""`nacre hook`: exit code, streams and JSON of each answer, for each agent."""

from __future__ import annotations

import json
from typing import Any

from tests.interface.program import Call, Finished, Program
from tests.interface.shapes import describe_shape
from tests.interface.snapshot import check_snapshot

COMMANDS = {"allowed": "ls", "asked": "git stash drop", "refused": "git push --force"}
WORDS = ("permission", "permissionDecision", "hookEventName")


def claude_code(given: Any, **more: Any) -> dict[str, Any]:
    asks = {"permission_mode": "default", "cwd": "/"}
    return {
        "session_id": "s",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": given,
        **asks,
        **more,
    }


def codex(given: Any) -> dict[str, Any]:
    return claude_code(given, turn_id="t", model="m")


def gemini(given: Any) -> dict[str, Any]:
    return {
        "session_id": "s",
        "hook_event_name": "BeforeTool",
        "cwd": "/",
        "tool_name": "run_shell_command",
        "tool_input": given,
    }


def cursor(given: Any) -> dict[str, Any]:
    fields = given if isinstance(given, dict) else {"command": given}
    return {"cursor_version": "2.0.77", "hook_event_name": "beforeShellExecution", "cwd": "/", **fields}


def cursor_tool(given: Any) -> dict[str, Any]:
    return {
        "cursor_version": "2.0.77",
        "hook_event_name": "preToolUse",
        "cwd": "/",
        "tool_name": "Shell",
        "tool_input": given,
    }


AGENTS = {
    "claude-code": claude_code,
    "codex": codex,
    "gemini": gemini,
    "cursor": cursor,
    "cursor, before a tool": cursor_tool,
}


def test_hook_answers_match_their_snapshot(program: Program) -> None:
    payloads: dict[str, Any] = {}
    for agent, build in AGENTS.items():
        payloads |= {f"{agent}: {name}": build({"command": text}) for name, text in COMMANDS.items()}
        payloads[f"{agent}: no command"] = build({})
        payloads[f"{agent}: a command that is a number"] = build({"command": 7})
        payloads[f"{agent}: another event"] = {**build({"command": "ls"}), "hook_event_name": "SessionStart"}
    payloads["claude-code: asked, permissions bypassed"] = claude_code(
        {"command": COMMANDS["asked"]}, permission_mode="bypassPermissions"
    )
    payloads["claude-code: another tool"] = claude_code({"file_path": "/x"}, tool_name="Read")
    payloads["cursor: another tool"] = {**cursor_tool({"path": "/x"}), "tool_name": "Read"}
    payloads["unknown agent"] = {"tool": "Bash"}
    calls = {name: Call(["hook"], json.dumps(payload).encode()) for name, payload in payloads.items()}
    calls["claude-code: asked, --no-ask"] = Call(
        ["hook", "--no-ask"], json.dumps(claude_code({"command": COMMANDS["asked"]})).encode()
    )
    calls["not JSON"] = Call(["hook"], b"{")
    calls["empty"] = Call(["hook"], b"")
    check_snapshot("hook_answers", {name: describe_answer(done) for name, done in program.run_all(calls).items()})


def describe_answer(done: Finished) -> dict[str, Any]:
    said = describe_shape(json.loads(done.out), words=WORDS) if done.out else None
    return {"exit_code": done.code, "stdout": said, "stderr": bool(done.err)}


def test_hook_install_entries_match_their_snapshot(program: Program) -> None:
    """`nacre hook install` adds the same entry to each agent's settings file."""
    found = {}
    for agent in ("claude-code", "codex", "gemini", "cursor"):
        before = {path for path in program.home.rglob("*") if path.is_file()}
        assert program.run("hook", "install", agent, "--program", "/opt/nacre").code == 0
        (file,) = {path for path in program.home.rglob("*") if path.is_file()} - before
        text = file.read_text()
        found[agent] = {"file": str(file.relative_to(program.home)), "text": text.splitlines()}
    check_snapshot("hook_install", found)
