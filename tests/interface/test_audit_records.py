"""Lines of the audit trail: keys, types and texts of the records of runs and hooks."""

from __future__ import annotations

import json
from typing import Any

from tests.interface.program import Program
from tests.interface.shapes import describe_shape, split_common
from tests.interface.snapshot import check_snapshot

WORDS = ("kind", "caller", "profile", "decision", "mode", "access", "error")


def read_last(program: Program) -> Any:
    return json.loads((program.state / "audit.jsonl").read_text().splitlines()[-1])


def test_audit_records_of_runs_and_hooks_match_their_snapshot(program: Program) -> None:
    program.configure('audit = true\n[permissions]\nask = ["Bash(printf:*)"]\n')
    runs = {
        "exited": ["--description", "d", "echo hi"],
        "timed out": ["--timeout", "0.3", "sleep 60"],
        "refused": ["git push --force"],
        "asked, nobody there": ["printf hi"],
        "asked, --yes": ["--yes", "printf hi"],
        "background": ["--background", "sleep 60"],
        "bad request": ["--cwd", "/no/such/place", "true"],
    }
    found = {}
    for name, words in runs.items():
        program.run("run", *words)
        found[f"run, {name}"] = describe_shape(read_last(program), words=WORDS)
    check_snapshot("audit_runs", split_common(found))
    hooks = {"passed": "ls", "asked": "printf hi", "refused": "git push --force"}
    found = {}
    for name, command in hooks.items():
        payload = {
            "session_id": "s",
            "hook_event_name": "PreToolUse",
            "permission_mode": "default",
            "cwd": str(program.home),
            "tool_name": "Bash",
            "tool_input": {"command": command},
        }
        program.run("hook", stdin=json.dumps(payload).encode())
        found[f"hook, {name}"] = describe_shape(read_last(program), words=WORDS)
    check_snapshot("audit_hooks", split_common(found))
    kept = [json.loads(line) for line in (program.state / "audit.jsonl").read_text().splitlines()]
    assert program.run("audit", "--json").json_lines() == kept


def test_audit_variable_writes_to_the_default_file(program: Program) -> None:
    program.run("run", "true", env={"NACRE_AUDIT": "1"})
    assert read_last(program)["v"] == 1
