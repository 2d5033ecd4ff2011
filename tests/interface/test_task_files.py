"""Files of a task, which other programs and other versions of nacre read: their names, keys and types."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.interface.program import Program
from tests.interface.shapes import describe_shape
from tests.interface.snapshot import check_snapshot
from tests.support.confined import HERE
from tests.support.lifeline import Gate
from tests.support.repositories import repository
from tests.support.waiting import wait_until

FILES = ("task.json", "process.json", "status.json")


def start_background(program: Program, *words: str) -> None:
    assert program.run("run", "--background", *words).code == 0


def start_promoted(program: Program, command: str) -> None:
    assert program.run("run", "--yield-after", "0.2", command).code == 75


def start_adopted(program: Program, command: str) -> None:
    assert program.run("run", "--detach", f"({command}) >/dev/null 2>&1 &").code == 0


def find_task(program: Program) -> Path:
    (found,) = (program.state / "tasks").glob("bash-*")
    return found


def describe_task(task: Path) -> dict[str, Any]:
    """Return the names of all its files, and the shapes of the JSON files."""
    shapes = {
        name: describe_shape(json.loads((task / name).read_text()), words=("kind", "access"))
        for name in FILES
        if (task / name).exists()
    }
    return {"files": sorted(path.name for path in task.iterdir()), **shapes}


def end_task(program: Program, gate: Gate, how: str) -> None:
    task = find_task(program)
    if how == "kill":
        assert program.run("kill", task.name).code == 0
    else:
        if how == "exit":
            gate.open()
        program.run("wait", task.name)
    wait_until((task / "status.json").exists, "the status of the task")


@pytest.mark.parametrize(
    ("name", "kind", "options", "command", "how"),
    [
        ("background exited", "background", ["--open-stdin", "--description", "d"], "echo hi; {wait}; exit 3", "exit"),
        ("background signalled", "background", [], "{wait}; kill -9 $$", "exit"),
        ("background killed", "background", [], "{wait}", "kill"),
        ("background timed out", "background", ["--timeout", "0.5"], "{wait}", "time"),
        ("promoted exited", "promoted", [], "{wait}", "exit"),
        ("adopted killed", "adopted", [], "{wait}", "kill"),
    ],
    ids=["exited", "signalled", "killed", "timed_out", "promoted", "adopted"],
)
def test_task_files_match_their_snapshot(
    program: Program, gate: Gate, name: str, kind: str, options: list[str], command: str, how: str
) -> None:
    command = command.format(wait=gate.wait)
    if kind == "background":
        start_background(program, *options, command)
    else:
        (start_promoted if kind == "promoted" else start_adopted)(program, command)
    task = find_task(program)
    running = {} if how == "time" else describe_task(task)  # it may time out before the test can look
    end_task(program, gate, how)
    ended = {key: value for key, value in describe_task(task).items() if running.get(key) != value}
    check_snapshot(f"task_files_{name.replace(' ', '_')}", {"while it runs": running, "changed at its end": ended})


@pytest.mark.linux
@pytest.mark.skipif(not (HERE.confines and HERE.seccomp), reason="no sandbox on this kernel")
def test_status_file_of_a_task_that_changed_a_protected_path_matches_its_snapshot(program: Program) -> None:
    repo = repository(program.home / "repo")
    start_background(program, "--access", "workspace", "--cwd", str(repo), "echo evil > AGENTS.md")
    task = find_task(program)
    wait_until((task / "status.json").exists, "the status of the task")
    status = json.loads((task / "status.json").read_text())
    assert [note for note in status["notes"] if "AGENTS.md is protected" in note] == status["notes"]
    assert not (repo / "AGENTS.md").exists()
    check_snapshot("task_files_restored", describe_shape(status, words=("kind",)))
