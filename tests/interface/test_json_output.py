"""`--json` and `--jsonl`: keys, types and texts, with the exit code of each situation."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.interface.program import Call, Program, read_line
from tests.interface.shapes import describe_shape, merge_equal, split_common
from tests.interface.snapshot import check_snapshot
from tests.support.lifeline import Gate
from tests.support.quoting import quote

REFUSED = "git push --force"
"""Has no effect in the directory of a test, which is no repository."""
ASKED = "git stash drop"


def test_json_of_each_run_outcome_matches_its_snapshot(program: Program, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "bash").write_text("#!/no/such/interpreter\n")
    (broken / "bash").chmod(0o755)
    calls = {
        "exited 0": Call(["run", "--json", "echo out | cat"]),
        "exited 3": Call(["run", "--json", "echo err >&2; exit 3"]),
        "signalled": Call(["run", "--json", "kill -9 $$"]),
        "timed out": Call(["run", "--json", "--timeout", "0.3", "sleep 60"]),
        "refused": Call(["run", "--json", REFUSED]),
        "asked, nobody there": Call(["run", "--json", ASKED]),
        "not started": Call(["run", "--json", "true"], env={"PATH": str(broken)}),
        "spilled": Call(["run", "--json", "--output-dir", str(tmp_path / "spill"), "head -c 3000000 /dev/zero"]),
        "killed leftovers": Call(["run", "--json", "sleep 60 >/dev/null 2>&1 &"]),
        "detached leftovers": Call(["run", "--json", "--detach", "sleep 60 >/dev/null 2>&1 &"]),
        "promoted": Call(["run", "--json", "--yield-after", "0.3", "sleep 60"]),
        "background": Call(["run", "--json", "--background", "sleep 60"]),
        "session": Call(["run", "--json", "--session", "s", "cd /"]),
    }
    found = {name: done.describe_flat() for name, done in program.run_all(calls).items()}
    check_snapshot("json_run", split_common(found))


@pytest.mark.linux
def test_json_of_linux_only_outcomes_matches_its_snapshot(program: Program) -> None:
    kill_keeper = "read _ _ _ keeper _ </proc/$$/stat; kill -9 $keeper; sleep 60"
    calls = {
        "over limit": Call(["run", "--json", "--processes", "3", "for _ in 1 2 3 4 5 6; do sleep 60 & done; wait"]),
        "lost": Call(["run", "--json", kill_keeper]),
    }
    found = {name: done.describe_flat() for name, done in program.run_all(calls).items()}
    check_snapshot("json_run_linux", split_common(found))


def test_json_of_errors_matches_its_snapshot(program: Program) -> None:
    calls = {
        "run, empty command": Call(["run", "--json", " "]),
        "run, bad timeout": Call(["run", "--json", "--timeout", "-1", "true"]),
        "run, missing directory": Call(["run", "--json", "--cwd", "/no/such/place", "true"]),
        "run, unknown option": Call(["run", "--json", "--no-such", "true"]),
        "run, access unavailable": Call(
            ["run", "--json", "--access", "restricted", "true"], env={"NACRE_PORTABLE": "1"}
        ),
        "run, unknown engine": Call(["run", "--json", "--engine", "nowhere", "true"]),
        "run, unknown profile": Call(["run", "--json", "--profile", "nobody", "true"]),
        "run, bad setting": Call(["run", "--json", "true"], env={"NACRE_ACCESS": "everything"}),
        "check, unknown option": Call(["check", "--json", "--no-such", "true"]),
        "rules, unknown": Call(["rules", "--json", "no-such-rule"]),
        "output, no such task": Call(["output", "--json", "bash-00000000"]),
        "wait, bad condition": Call(["wait", "--json", "--until", "moon:full", "bash-00000000"]),
        "profiles, unknown": Call(["profiles", "--json", "nobody"]),
        "config, bad setting": Call(["config", "--json"], env={"NACRE_TIMEOUT": "soon"}),
        "unknown command": Call(["runn", "--json"]),
    }
    found = {}
    for name, done in program.run_all(calls).items():
        (data,) = done.json_lines()
        assert list(data) == ["error"]
        found[name] = {"(exit code)": done.code, "(stderr)": bool(done.err), **describe_shape(data["error"])}
    check_snapshot("json_errors", split_common(found))


def test_json_of_checker_commands_matches_its_snapshot(program: Program) -> None:
    lines = [
        json.dumps("ls"),
        json.dumps({"command": ASKED, "cwd": "/", "env": {"A": "b"}, "stdin": "x"}),
        json.dumps(REFUSED),
        json.dumps({"command": "ls", "colour": "red"}),
        "not JSON",
    ]
    calls = {
        "check, allow": Call(["check", "--json", "ls"]),
        "check, ask": Call(["check", "--json", ASKED]),
        "check, refuse": Call(["check", "--json", f"bash -c '{REFUSED}'"]),
        "check, unknown words": Call(["check", "--json", "$EDITOR notes.txt"]),
        "check --jsonl": Call(["check", "--jsonl"], "\n".join(lines).encode()),
        "check --jsonl, allow": Call(["check", "--jsonl"], b'"ls"\n"pwd"'),
        "explain, allow": Call(["explain", "--json", "ls"]),
        "explain, ask": Call(["explain", "--json", ASKED]),
        "explain, refuse": Call(["explain", "--json", f"for i in 1 2; do bash -c '{REFUSED}' | cat; done"]),
        "rules": Call(["rules", "--json"]),
        "rules ID": Call(["rules", "--json", "git-push-force"]),
    }
    found = program.run_all(calls)
    check_snapshot("json_checker", {name: done.describe() for name, done in found.items()})
    rules = found["rules"].json_lines()[0]["rules"]
    check_snapshot("rules", {rule["id"]: rule["decision"] for rule in rules})


def test_json_of_config_profiles_and_doctor_matches_its_snapshot(program: Program) -> None:
    program.configure('timeout = 30\nhidden = ["~/.ssh"]\n[rules]\ngit-push-force = "ask"\n')
    project = program.home / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text('[tool.nacre]\npass_env = ["A"]\naccess = "workspace"\n')
    calls = {
        "config": Call(["config", "--json", "--cwd", str(project)]),
        "profiles": Call(["profiles", "--json"]),
        "profiles NAME": Call(["profiles", "--json", "yoi"]),
    }
    found = {name: done.describe() for name, done in program.run_all(calls).items()}
    doctor = program.run("doctor", "--json")
    (report,) = doctor.json_lines()
    found["doctor"] = {
        "exit_code": "0 when commands can be run and confined, else 1",
        "stdout": {name: type(value).__name__ for name, value in report.items()},
        "checks": sorted({name for check in report["checks"] for name in check}),
    }
    assert doctor.code == (0 if report["ok"] else 1)
    check_snapshot("json_settings", found)


def test_json_of_task_commands_matches_its_snapshot(program: Program, gate: Gate) -> None:
    found = {}

    def keep(name: str, *words: str) -> None:
        found[name] = program.run(*words).describe()

    def begin(command: str, *options: str) -> str:
        done = program.run("run", "--background", *options, command)
        id = done.out.decode().strip()
        assert re.fullmatch(r"bash-[0-9a-f]{8}", id), done
        return id

    keep("tasks, none", "tasks", "--json")
    first = begin(f"echo ready; {gate.wait}; exit 3")
    keep("wait --until text", "wait", "--json", "--until", "text:ready", first)
    keep("wait --timeout", "wait", "--json", "--timeout", "0.1", first)
    keep("tasks, one runs", "tasks", "--json")
    keep("output, it runs", "output", "--json", first)
    gate.open()
    keep("wait, exited", "wait", "--json", first)
    keep("wait --until text, it exits first", "wait", "--json", "--until", "text:never", first)
    second = begin("cat", "--open-stdin")
    keep("write", "write", second, "hi\n")
    keep("wait --until quiet", "wait", "--json", "--until", "quiet:0.1", second)
    keep("kill", "kill", "--json", second)
    keep("wait, several", "wait", "--json", first, second)
    keep("output, killed", "output", "--json", "--tail", "1", second)
    followed = program.run("output", "--json", "--follow", first)
    lines = merge_equal([describe_shape(line) for line in followed.json_lines()])
    found["output --follow"] = {"exit_code": followed.code, "each line": lines}
    (program.state / "tasks" / "bash-00000000").mkdir()
    keep("tasks --all", "tasks", "--all", "--json")
    keep("clean", "clean", "--json", "--older-than", "0")
    check_snapshot("json_tasks", found)


def test_tasks_watch_json_prints_one_object_per_line_until_ctrl_c(program: Program) -> None:
    with program.start("tasks", "--watch", "--json") as process:
        line = read_line(process)
        code = program.interrupt(process)
    assert (sorted(json.loads(line)), code) == (["directory", "tasks"], 130)


def test_session_file_keys_match_their_snapshot(program: Program, tmp_path: Path) -> None:
    program.run("run", "--session", "s", f"cd {quote(tmp_path)}; export COLOUR=blue; unset TERM")
    (path,) = (program.state / "sessions").glob("*.json")
    data = json.loads(path.read_text())
    check_snapshot("session_file", {"name": path.name, "keys": sorted(data)})
