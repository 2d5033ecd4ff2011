"""Exit codes of the situations in the help texts, and which streams are written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nacre.cli.tasks.kill import kill
from nacre.keeper.protocol.task_dir import PROCESS
from nacre.outcomes import Exited
from tests.interface.program import Call, Program
from tests.interface.snapshot import check_snapshot
from tests.support.fake_keeper import FakeKeeper, ended_task, write_file
from tests.support.lifeline import Gate, Lifeline

REFUSED, ASKED = "git push --force", "git stash drop"


def test_exit_codes_and_streams_match_their_snapshot(program: Program) -> None:
    bad_settings = {"NACRE_ACCESS": "everything"}
    payload = json.dumps({"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": {}})
    calls = {
        "--version": Call(["--version"]),
        "--help": Call(["--help"]),
        "no command": Call([]),
        "unknown command": Call(["rum"]),
        "run, exit 0": Call(["run", "echo hi"]),
        "run, exit 3": Call(["run", "exit 3"]),
        "run, exit 255": Call(["run", "exit 255"]),
        "run, SIGTERM": Call(["run", "kill -TERM $$"]),
        "run, timed out": Call(["run", "--timeout", "0.3", "sleep 60"]),
        "run, refused": Call(["run", REFUSED]),
        "run, asked and nobody there": Call(["run", ASKED]),
        "run, missing directory": Call(["run", "--cwd", "/no/such/place", "true"]),
        "run, access unavailable": Call(["run", "--access", "workspace", "true"], env={"NACRE_PORTABLE": "1"}),
        "run, bad setting": Call(["run", "true"], env=bad_settings),
        "run, goes on as a task": Call(["run", "--yield-after", "0.3", "sleep 60"]),
        "run, in the background": Call(["run", "--background", "sleep 60"]),
        "check, allow": Call(["check", "ls"]),
        "check, ask": Call(["check", ASKED]),
        "check, refuse": Call(["check", REFUSED]),
        "check, bad setting": Call(["check", "ls"], env=bad_settings),
        "check --jsonl, bad line": Call(["check", "--jsonl"], b"{"),
        "explain, allow": Call(["explain", "ls"]),
        "explain, ask": Call(["explain", ASKED]),
        "explain, refuse": Call(["explain", REFUSED]),
        "explain, bad setting": Call(["explain", "ls"], env=bad_settings),
        "rules": Call(["rules"]),
        "rules, unknown": Call(["rules", "no-such-rule"]),
        "hook, no opinion": Call(["hook"], payload.encode()),
        "hook, unreadable": Call(["hook"], b"{"),
        "hook, unknown option": Call(["hook", "--no-such"]),
        "hook install --dry-run": Call(["hook", "install", "claude-code", "--dry-run"]),
        "hook install, unknown agent": Call(["hook", "install", "nobody"]),
        "config": Call(["config"]),
        "config, bad setting": Call(["config"], env=bad_settings),
        "tasks": Call(["tasks"], env={"XDG_STATE_HOME": str(program.home / "empty")}),
        "tasks, unknown option": Call(["tasks", "--no-such"]),
        "output, no such task": Call(["output", "bash-00000000"]),
        "wait, no such task": Call(["wait", "bash-00000000"]),
        "kill, no such task": Call(["kill", "bash-00000000"]),
        "write, no such task": Call(["write", "bash-00000000", "x"]),
        "clean, bad age": Call(["clean", "--older-than", "long"]),
        "audit, none kept": Call(["audit"]),
        "profiles": Call(["profiles"]),
        "profiles, unknown": Call(["profiles", "nobody"]),
        "schema": Call(["schema"]),
        "schema, unknown profile": Call(["schema", "--profile", "nobody"]),
        "schema, unknown API": Call(["schema", "--for", "nobody"]),
        "mcp, unknown option": Call(["mcp", "--no-such"]),
    }
    found = {
        name: {"exit_code": done.code, "stdout": bool(done.out), "stderr": bool(done.err)}
        for name, done in program.run_all(calls).items()
    }
    check_snapshot("exit_codes", found)


def test_exit_codes_of_task_commands_match_their_snapshot(program: Program, gate: Gate) -> None:
    def begin(*words: str) -> str:
        return program.run("run", "--background", *words).out.decode().strip()

    exits = begin(f"{gate.wait}; exit 3")
    found = {"not in time": program.run("wait", "--timeout", "0.1", exits).code}
    gate.open()
    found["exit 3"] = program.run("wait", exits).code
    signalled = begin(f"{gate.wait}; kill -TERM $$")
    gate.open()
    found["SIGTERM"] = program.run("wait", signalled).code
    timed_out = begin("--timeout", "0.5", "sleep 60")
    found["timed out"] = program.run("wait", timed_out).code
    killed = begin("sleep 60")
    found["kill"] = program.run("kill", killed).code
    found["killed"] = program.run("wait", killed).code
    found["several, not all exited with 0"] = program.run("wait", exits, killed).code
    found["it exits without the text"] = program.run("wait", "--until", "text:never", exits).code
    found["write to a task that has exited"] = program.run("write", exits, "x").code
    found["kill what has exited"] = program.run("kill", exits).code
    found["output"] = program.run("output", exits).code
    found["clean"] = program.run("clean").code
    check_snapshot("exit_codes_tasks", found)


def end_with_survivor(store: Path) -> str:
    """Return the id of a task that has ended, one of whose processes could not be killed."""
    with FakeKeeper(store) as keeper:
        keeper.end(Exited(0), running=[{"pid": 5, "pgid": 5, "command": "stuck"}])
    return keeper.id


def break_files(store: Path) -> str:
    """Return the id of a task whose files cannot be read."""
    id = ended_task(store, Exited(0))
    write_file(store / id, PROCESS, b"{}")
    return id


@pytest.mark.parametrize("prepare", [end_with_survivor, break_files])
def test_kill_exits_with_1_if_a_task_could_not_be_killed(program: Program, prepare: Callable[[Path], str]) -> None:
    id = prepare(program.state / "tasks")
    done = program.run("kill", "--json", id)
    assert (done.code, done.json_lines()[0]["survived"]) == (1, [id])


def test_kill_exits_with_1_if_the_keeper_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("nacre.tasks.kill._KEEPER_MARGIN_S", 0.1)  # no other process may wait less
    with FakeKeeper(tmp_path) as keeper:
        keeper.on_kill = lambda: None
        assert kill(["--grace", "0", "--dir", str(tmp_path), keeper.id]) == 1
        keeper.end(Exited(0))
    assert "could not be killed" in capfd.readouterr().err


def test_clean_exits_with_1_if_a_task_could_not_be_removed(program: Program) -> None:
    store = program.state / "tasks"
    stuck, removed = ended_task(store, Exited(0)), ended_task(store, Exited(0))
    (store / f".removed-{stuck}").touch()  # a task's directory gets this name first: the rename fails, even for root
    done = program.run("clean", "--older-than", "0", "--json")
    answer = done.json_lines()[0]
    assert (done.code, answer["removed"]) == (1, [removed])
    assert [problem.partition(":")[0] for problem in answer["problems"]] == [stuck]


@pytest.mark.linux
def test_exceeded_process_limit_exits_with_137(program: Program) -> None:
    assert program.run("run", "--processes", "3", "for _ in 1 2 3 4 5 6; do sleep 60 & done; wait").code == 137


def test_ctrl_c_exits_with_130(program: Program, life: Lifeline) -> None:
    with program.start("run", f"{life.hold} sleep 60") as process:
        life.wait_held()
        assert program.interrupt(process) == 130
