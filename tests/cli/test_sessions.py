"""`--session NAME`: directory and exported variables, from one invocation to the next."""

from __future__ import annotations

import json
import stat
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.nacre_program import Done, Nacre, finish, read_line
from tests.support.lifeline import Gate, Lifeline


def file_of(nacre: Nacre, name: str) -> Path:
    return nacre.state / "nacre" / "sessions" / f"{name}.json"


@pytest.mark.req("M-12")
def test_session_keeps_working_directory_and_exported_variables(nacre: Nacre, tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    done = nacre("run", "--session", "work", "cd ../place; export COLOUR=blue ODD=$'\\xff\\n'; LOCAL=no; unset LANG")
    assert done == Done(err=f"nacre: The session's directory is now {tmp_path}/place.\n".encode())
    look = 'pwd; echo $COLOUR ${LOCAL-none} ${LANG-none}; printf %s "$ODD"'
    assert nacre("run", "--session", "work", look) == Done(
        0, f"{tmp_path}/place\nblue none none\n".encode() + b"\xff\n"
    )


@pytest.mark.req("Y-01")
def test_run_without_a_session_keeps_no_state(nacre: Nacre) -> None:
    assert nacre("run", "cd /; export COLOUR=blue") == Done()
    assert nacre("run", "pwd; echo ${COLOUR-none}") == Done(0, f"{nacre.home}\nnone\n".encode())
    assert not nacre.state.exists()


@pytest.mark.linux
def test_sandboxed_exports_do_not_reach_unrestricted_commands(nacre: Nacre) -> None:
    nacre("run", "--session", "s", "--access", "restricted", "ls() { echo mine; }; export -f ls; export A=b")
    assert nacre("run", "--session", "s", "--access", "restricted", "echo $A").out == b"b\n"
    assert nacre("run", "--session", "s", "echo ${A-nothing}; type -t ls").out == b"nothing\nfile\n"


def test_sessions_are_separate(nacre: Nacre) -> None:
    nacre("run", "--session", "one", "export COLOUR=blue")
    assert nacre("run", "--session", "two", "echo ${COLOUR-none}") == Done(0, b"none\n")


def test_session_file_is_readable_by_the_user_only(nacre: Nacre) -> None:
    nacre("run", "--session", "work", "export TOKEN=hush")
    nacre("run", "--session", "work", "true")
    kept = file_of(nacre, "work")
    assert sorted(path.name for path in kept.parent.iterdir()) == ["work.json", "work.lock"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in (kept.parent, kept)] == [0o700, 0o600]
    assert json.loads(kept.read_bytes())["cwd"] == str(nacre.home)


def test_cwd_and_env_options_of_one_call_are_not_kept_in_the_session(nacre: Nacre) -> None:
    assert nacre("run", "--session", "s", "--cwd", "/", "--env", "ONCE=1", "pwd; echo $ONCE") == Done(0, b"/\n1\n")
    assert nacre("run", "--session", "s", "pwd; echo ${ONCE-none}") == Done(0, f"{nacre.home}\nnone\n".encode())


@pytest.mark.parametrize(
    ("command", "code"), [("cd /; exit 3", 3), ("cd /; false", 1), ("cd /; set -e; false; echo never", 1)]
)
def test_failing_command_changes_the_session(nacre: Nacre, command: str, code: int) -> None:
    assert nacre("run", "--session", "s", command).code == code
    assert nacre("run", "--session", "s", "pwd").out == b"/\n"


def test_killed_command_leaves_the_session_unchanged(nacre: Nacre) -> None:
    nacre("run", "--session", "s", "export COLOUR=blue")
    assert nacre("run", "--session", "s", "cd /; export COLOUR=red; kill -9 $$").code == 137
    assert nacre("run", "--session", "s", "pwd; echo $COLOUR") == Done(0, f"{nacre.home}\nblue\n".encode())


def test_vanished_session_directory_is_reported(nacre: Nacre, tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    nacre("run", "--session", "s", f"cd '{tmp_path}/place'")
    (tmp_path / "place").rmdir()
    done = nacre("run", "--session", "s", "pwd")
    said = f"nacre: The session's directory {tmp_path}/place no longer exists; this command ran in {tmp_path}.\n"
    assert done == Done(0, f"{tmp_path}\n".encode(), said.encode())


def test_calls_of_one_session_run_one_after_another(nacre: Nacre, life: Lifeline, gate: Gate) -> None:
    with nacre.start("run", "--session", "s", f"{life.hold} {gate.wait}; export N=1") as first:
        life.wait_held()
        with nacre.start("run", "--session", "s", "echo $N") as second:
            assert second.stderr is not None
            assert read_line(second.stderr.fileno()) == b"nacre: waiting: session s is busy with another command\n"
            gate.open()
            assert finish(second) == Done(0, b"1\n")
        assert finish(first) == Done()


def test_concurrent_calls_of_one_session_lose_no_change(nacre: Nacre) -> None:
    with ExitStack() as stack:
        several = [
            stack.enter_context(nacre.start("run", "--session", "s", "--json", "export N=$((N + 1))")) for _ in range(6)
        ]
        assert [finish(program).code for program in several] == [0] * 6
    assert nacre("run", "--session", "s", "echo $N") == Done(0, b"6\n")


@pytest.mark.parametrize("name", ["", ".", "..", "../up", "a/b", ".hidden", "-x", "a b", "a\nb", "é", "x" * 101])
def test_session_names_that_could_be_paths_are_refused(nacre: Nacre, name: str) -> None:
    done = nacre("run", f"--session={name}", "echo never")
    assert (done.code, done.out) == (125, b"")
    assert done.err.startswith(b"nacre: ")
    assert b"is not a valid session name. Use up to 100 letters" in done.err
    assert not nacre.state.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not json",
        b"\xff",
        b"[]",
        b"{}",
        b'{"version": 2, "cwd": "/", "changes": {}}',
        b'{"version": 1, "cwd": 7, "changes": {}}',
        b'{"version": 1, "cwd": "here", "changes": {}}',
        b'{"version": 1, "cwd": "/", "changes": {"A": 1}}',
        b'{"version": 1, "cwd": "/", "changes": {"A=B": "1"}}',
        b'{"version": 1, "cwd": "/", "changes": {"A": "x\\u0000"}}',
        b'{"version": 1, "cwd": "/\\u0000", "changes": {}}',
    ],
)
def test_invalid_session_file_is_named_and_left_unchanged(nacre: Nacre, content: bytes) -> None:
    path = file_of(nacre, "work")
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    done = nacre("run", "--session", "work", "echo never")
    said = (
        f"nacre: The session file {path} is invalid; it was not changed. "
        "Fix it, or move it away to start a new session.\n"
    )
    assert done == Done(125, err=said.encode())
    assert path.read_bytes() == content


def test_unwritable_session_directory_is_reported_before_the_command_runs(nacre: Nacre) -> None:
    nacre.state.write_text("a file is in the way")
    done = nacre("run", "--session", "work", "echo never")
    assert (done.code, done.out) == (125, b"")
    assert done.err.startswith(f"nacre: Cannot save the session in {nacre.state}/nacre/sessions: ".encode())


def test_interrupted_session_can_be_used_again(nacre: Nacre, life: Lifeline) -> None:
    with nacre.start("run", "--session", "s", f"cd /; {life.hold} sleep 60") as program:
        life.wait_held()
        program.terminate()
        assert finish(program).code == 143
    assert nacre("run", "--session", "s", "echo again") == Done(0, b"again\n")
