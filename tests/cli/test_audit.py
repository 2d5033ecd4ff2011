"""`nacre audit`, and the trail that `nacre run` writes for it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.nacre_program import Done, Nacre, read_line

ON = {"NACRE_AUDIT": "1"}


@pytest.fixture
def audited(nacre: Nacre) -> Nacre:
    """Return a home with an audit trail of three runs."""
    for command in ("echo hi", "exit 3", "rm -rf ~"):
        nacre("run", command, env=ON)
    return nacre


def commands(done: Done) -> list[str]:
    assert (done.code, done.err) == (0, b"")
    return [json.loads(line)["command"] for line in done.out.splitlines()]


def test_audit_shows_one_line_per_run(audited: Nacre) -> None:
    done = audited("audit")
    lines = [re.sub(r"^.{19}  (.{12})  +\S+  +", r"\1 ", line) for line in done.out.decode().splitlines()]
    assert [line.split() for line in lines] == [
        "exit 0 3 nacre run echo hi".split(),
        "exit 3 0 nacre run exit 3".split(),
        "refused 0 nacre run rm -rf ~".split(),
    ]


def test_audit_json_prints_the_records(audited: Nacre) -> None:
    done = audited("audit", "--json")
    assert commands(done) == ["echo hi", "exit 3", "rm -rf ~"]
    first = json.loads(done.out.splitlines()[0])
    assert (first["caller"], first["outcome"]) == ("nacre run", {"kind": "exited", "code": 0})


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--outcome", "failed"], ["exit 3", "rm -rf ~"]),
        (["--outcome=refused"], ["rm -rf ~"]),
        (["--rule", "rm-root-or-home"], ["rm -rf ~"]),
        (["--caller", "nacre run"], ["echo hi", "exit 3", "rm -rf ~"]),
        (["--conversation", "none"], []),
        (["-n", "1"], ["rm -rf ~"]),
        (["echo"], ["echo hi"]),
    ],
)
def test_audit_filters_select_matching_runs(words: list[str], found: list[str], audited: Nacre) -> None:
    assert commands(audited("audit", "--json", *words)) == found


def test_audit_follow_prints_new_runs_as_they_are_recorded(audited: Nacre) -> None:
    with audited.start("audit", "--json", "--follow", "-n", "1") as program:
        assert program.stdout is not None
        assert json.loads(read_line(program.stdout.fileno()))["command"] == "rm -rf ~"
        audited("run", "echo later", env=ON)
        assert json.loads(read_line(program.stdout.fileno()))["command"] == "echo later"


def test_audit_without_a_trail_names_the_setting_that_starts_one(nacre: Nacre) -> None:
    nacre("run", "true")
    done = nacre("audit")
    assert (done.code, done.out) == (0, b"")
    assert done.err.startswith(b"nacre: No audit trail at ")
    assert b"NACRE_AUDIT=1" in done.err


def test_unwritable_audit_trail_is_reported_and_the_command_still_runs(nacre: Nacre, tmp_path: Path) -> None:
    done = nacre("run", "echo fine", env={"NACRE_AUDIT": str(tmp_path)})
    assert (done.code, done.out) == (0, b"fine\n")
    assert done.err == f"nacre: This run is not in the audit trail {tmp_path}: Is a directory.\n".encode()


def test_foreign_audit_lines_are_shown_or_counted_as_unreadable(nacre: Nacre, tmp_path: Path) -> None:
    odd = tmp_path / "odd.jsonl"
    odd.write_text("[" * 100_000 + '\n{"duration": ' + "9" * 400 + ', "command": "make"}\n')
    done = nacre("audit", "--file", str(odd))
    assert (done.code, done.out.split()[-1]) == (0, b"make")
    assert done.err == b"nacre: 1 lines are unreadable.\n"


def test_unreadable_audit_path_gives_125_without_a_traceback(nacre: Nacre, tmp_path: Path) -> None:
    done = nacre("audit", "--file", str(tmp_path))
    assert (done.code, done.out) == (125, b"")
    assert done.err.startswith(f"nacre: Cannot read the audit trail at {tmp_path}: Is a directory.".encode())
    (tmp_path / "file").touch()
    done = nacre("audit", "--file", str(tmp_path / "file" / "audit.jsonl"))
    assert (done.code, done.err.count(b"Traceback")) == (125, 0)


def test_audit_limit_0_prints_all_records(audited: Nacre) -> None:
    assert commands(audited("audit", "--json", "-n", "0")) == ["echo hi", "exit 3", "rm -rf ~"]


def test_audit_line_contains_no_terminal_escapes(nacre: Nacre) -> None:
    nacre("run", "true '\x1b[2J\n'", env=ON)
    assert b"\x1b" not in nacre("audit").out
    assert nacre("audit").out.count(b"\n") == 1
