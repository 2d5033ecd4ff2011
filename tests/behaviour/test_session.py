"""A session carries the working directory and the exported environment from call to call, and nothing else."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from nacre import Bash, Cancel, Chunk, Ended, Request, Session, Started, ToolContext
from nacre.base.system import memory_file
from nacre.execution.exit_state import read_exit_state
from nacre.result import Cancelled, Exited, Lost, Signalled, TimedOut
from tests.support.hosts import run_host
from tests.support.lifeline import Lifeline
from tests.support.quoting import quote
from tests.support.unchecked import UNCHECKED

pytestmark = pytest.mark.req("M-12")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "below").mkdir(parents=True)
    return home


@pytest.fixture
def session(home: Path) -> Session:
    return Session(ctx=ToolContext(working_dir=home))


async def say(session: Session, text: str) -> str:
    result = await session.run(text)
    assert result.stderr == ""
    return result.stdout


async def test_working_directory_carries_over_and_the_result_notes_the_change(session: Session, home: Path) -> None:
    assert session.cwd == str(home)
    moved = await session.run("cd below")
    assert (moved.outcome, moved.output, moved.cwd) == (Exited(0), "", str(home))
    assert moved.notes == (f"The session's directory is now {home}/below.",)
    stayed = await session.run("pwd")
    assert (stayed.stdout, stayed.cwd, stayed.notes) == (f"{home}/below\n", f"{home}/below", ())
    assert session.cwd == f"{home}/below"


async def test_exported_variables_carry_over_and_others_do_not(session: Session) -> None:
    await session.run("export A=1 B='two words\nand lines'; C=3; export PATH=$PATH:/extra")
    assert await say(session, 'echo "$A|$B|${C-none}|${PATH##*:}"') == "1|two words\nand lines|none|/extra\n"
    path = session.env_changes["PATH"]
    assert session.env_changes == {"A": "1", "B": "two words\nand lines", "PATH": path}


async def test_an_unset_variable_stays_unset(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INHERITED", "theirs")
    assert await say(session, "echo $INHERITED; unset INHERITED") == "theirs\n"
    assert await say(session, "echo ${INHERITED-unset}") == "unset\n"
    assert session.env_changes["INHERITED"] is None
    await session.run("export INHERITED=again")
    assert await say(session, "echo $INHERITED") == "again\n"


async def test_empty_variable_carries_over_as_empty_not_unset(session: Session) -> None:
    await session.run("export EMPTY=")
    assert await say(session, "echo ${EMPTY-unset}.") == ".\n"


async def test_exported_functions_carry_over(session: Session) -> None:
    await session.run('greet() { echo "hello $1"; }; export -f greet')
    assert await say(session, "greet you") == "hello you\n"


async def test_variable_with_arbitrary_bytes_carries_over(session: Session) -> None:
    await session.run(r"export ODD=$'\xff\x01\n=\e'")
    assert await say(session, 'printf %s "$ODD" | od -An -tx1') == " ff 01 0a 3d 1b\n"


ENDS = {
    "failing": ("false", Exited(1)),
    "exit": ("exit 7", Exited(7)),
    "set-e": ("set -e; false; echo not here", Exited(1)),
    "set-u": ("set -u; echo $nothing", Exited(127)),
    "syntax-error": ("echo 'unclosed", Exited(2)),
    "missing-command": ("no-such-command", Exited(127)),
    "exit-in-a-function": ("f() { exit 9; }; f", Exited(9)),
    "own-exit-trap": ("trap 'true' EXIT; (exit 6)", Exited(6)),
    "terminated": ("kill -TERM $$; sleep 1", Signalled(15)),
}


@pytest.mark.parametrize(("end", "outcome"), ENDS.values(), ids=ENDS)
async def test_session_state_carries_over_however_the_shell_exits(
    session: Session, home: Path, end: str, outcome: object
) -> None:
    result = await session.run(f"cd below\nexport A=1\n{end}")
    assert result.outcome == outcome
    assert await say(session, "pwd; echo ${A-none}") == f"{home}/below\n1\n"


UNTOLD = {
    "killed": ("kill -9 $$", Signalled(9)),
    "replaced": ("exec true", Exited(0)),
    "exits-past-us-with-a-trap-of-its-own": ("trap 'true' EXIT; exit 3", Exited(3)),
}


@pytest.mark.parametrize(("end", "outcome"), UNTOLD.values(), ids=UNTOLD)
async def test_session_state_is_unchanged_when_the_shell_cannot_report_it(
    session: Session, home: Path, end: str, outcome: object
) -> None:
    await session.run("export A=before; cd below")
    result = await session.run(f"export A=after; cd /; {end}")
    assert (result.outcome, result.output) == (outcome, "")
    assert await say(session, "pwd; echo $A") == f"{home}/below\nbefore\n"


async def test_a_session_survives_a_timeout_and_a_cancelled_task(session: Session, home: Path, life: Lifeline) -> None:
    await session.run("export A=1; cd below")
    late = await session.run(Request("sleep 999", timeout=0.3))
    assert late.outcome == TimedOut(0.3)
    task = asyncio.create_task(session.run(f"{life.hold} sleep 999"))
    await life.wait_until_held()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await say(session, "pwd; echo $A") == f"{home}/below\n1\n"
    await life.wait_until_ended()


async def test_session_survives_a_shell_without_free_fds(session: Session, home: Path) -> None:
    await session.run("export A=1; cd below")
    await session.run("ulimit -n 3; true")
    assert await say(session, "pwd; echo $A; echo ${PATH:+path}") == f"{home}/below\n1\npath\n"


@pytest.mark.parametrize("account", [b"", b"/place", b"/place\0", b"/place\0A=1\0B=", b"/place\0A=1\0B=\0"])
def test_truncated_exit_state_is_ignored(account: bytes) -> None:
    state = memory_file(account)
    try:
        assert read_exit_state(state).environment is None
    finally:
        os.close(state)


async def test_a_session_survives_a_killed_keeper(home: Path) -> None:
    session = Session(UNCHECKED, ToolContext(working_dir=home))
    await session.run("export A=1; cd below")
    lost = await session.run("kill -9 $PPID; sleep 999")
    assert isinstance(lost.outcome, Lost)
    assert await say(session, "pwd; echo $A") == f"{home}/below\n1\n"


async def test_cwd_or_env_of_one_call_does_not_change_the_session(session: Session, home: Path) -> None:
    result = await session.run(Request("pwd; echo $ONCE", cwd="below", env={"ONCE": "1"}))
    assert (result.stdout, result.notes) == (f"{home}/below\n1\n", ())
    assert await say(session, "pwd; echo ${ONCE-none}") == f"{home}\nnone\n"
    await session.run(Request("cd /", cwd="below"))
    assert session.cwd == str(home)


async def test_env_of_one_call_overrides_the_session_variable(session: Session) -> None:
    await session.run("export A=session")
    result = await session.run(Request("echo $A", env={"A": "call"}))
    assert result.stdout == "call\n"
    assert await say(session, "echo $A") == "session\n"


async def test_deleted_session_directory_is_replaced_by_its_nearest_parent(session: Session, home: Path) -> None:
    (home / "below" / "deep").mkdir()
    await session.run("cd below/deep")
    shutil.rmtree(home / "below")
    result = await session.run("pwd")
    assert (result.stdout, result.cwd) == (f"{home}\n", str(home))
    assert result.notes == (f"The session's directory {home}/below/deep no longer exists; this command ran in {home}.",)
    assert (await session.run("pwd")).notes == ()


async def test_command_that_deletes_the_session_directory_notes_where_the_next_runs(
    session: Session, home: Path
) -> None:
    result = await session.run(f"cd below; rm -r {quote(home)}/below")
    assert result.notes == (f"The session's directory {home}/below no longer exists; the next command runs in {home}.",)
    assert await say(session, "pwd") == f"{home}\n"


async def test_session_keeps_the_logical_path_of_a_symlink(session: Session, home: Path) -> None:
    (home / "link").symlink_to("below")
    await session.run("cd link")
    assert await say(session, "pwd; pwd -P") == f"{home}/link\n{home}/below\n"


async def test_cd_dash_returns_to_the_directory_of_the_previous_call(session: Session, home: Path) -> None:
    await session.run("cd below")
    assert await say(session, "cd -") == f"{home}\n"


async def test_exit_trap_of_a_session_command_runs_once(session: Session, home: Path) -> None:
    result = await session.run("trap 'echo bye' EXIT; cd below; echo hello")
    assert (result.output, session.cwd) == ("hello\nbye\n", f"{home}/below")


@pytest.mark.parametrize("end", ["", "; exit 3", "; false"])
async def test_xtrace_shows_no_commands_of_nacre(session: Session, bash: Bash, end: str) -> None:
    text = f"set -x; echo hi; cd /{end}"
    inside, outside = await session.run(text), await bash.run(text)
    assert (inside.outcome, inside.stdout, inside.stderr) == (outside.outcome, outside.stdout, outside.stderr)


@pytest.mark.parametrize(
    "text",
    [
        "(env; set; declare -p) | grep -vE 'NACRE_RUN|^_=|^declare -. _=' | grep -i nacre",
        "env | grep -v ^NACRE_RUN= | sort",
        "echo $# $0 $-",
        "false; echo $?",
        "IFS=4; (exit 42)",
        "IFS=0123456789; (exit 42)",
        "set -u; (exit 3)",
        "set -- a b; echo $#",
        "printf() { echo mine; }; env() { echo mine; }; echo hi",
        "PATH=/nowhere; echo hi",
        "unset PATH; echo hi",
        "exec 1>&-; true",
        "exec >/dev/null; echo hidden",
        "set -o posix; echo hi",
        "set -f; set -C; echo hi >/dev/null",
        "shopt -s failglob; echo hi",
        "cd /; readonly PWD; echo hi",
    ],
)
async def test_a_session_changes_nothing_that_a_command_can_see(
    session: Session, bash: Bash, home: Path, text: str
) -> None:
    inside = await session.run(text)
    outside = await bash.run(text, ToolContext(working_dir=home))
    assert (inside.outcome, inside.stdout, inside.stderr) == (outside.outcome, outside.stdout, outside.stderr)


async def test_leftover_neither_delays_nor_changes_the_session(session: Session, life: Lifeline) -> None:
    result = await session.run(f"{life.hold} export A=1; (export A=2; cd /; sleep 60) & echo done")
    assert (result.stdout, await say(session, "echo $A")) == ("done\n", "1\n")
    for process in result.running:
        os.kill(process.pid, 9)
    await life.wait_until_ended()


async def test_session_calls_run_in_the_order_they_were_made(session: Session) -> None:
    results = await asyncio.gather(*(session.run(f'echo "${{LAST-0}}"; export LAST={i}') for i in range(1, 9)))
    assert [result.stdout for result in results] == [f"{i}\n" for i in range(8)]


async def test_session_can_stream_a_run(session: Session, home: Path) -> None:
    events = [event async for event in session.stream("echo hi; cd below")]
    assert [type(event) for event in events] == [Started, Chunk, Ended]
    last = events[-1]
    assert isinstance(last, Ended)
    assert last.result.notes == (f"The session's directory is now {home}/below.",)


async def test_session_can_be_restored_from_its_cwd_and_changes(session: Session, home: Path) -> None:
    await session.run("cd below; export A=1; unset HOME")
    again = Session(ctx=ToolContext(working_dir=home), cwd=session.cwd, changes=dict(session.env_changes))
    assert await say(again, "pwd; echo $A ${HOME-homeless}") == f"{home}/below\n1 homeless\n"


def test_session_in_a_missing_relative_directory_does_not_hang() -> None:
    program = """
        import asyncio, nacre
        try:
            print(asyncio.run(nacre.Session(cwd="no/such/directory").run("pwd")).outcome)
        except nacre.InvalidRequest as error:
            print(error.code)
    """
    assert run_host(program) in ("Exited(code=0)\n", "cwd_missing\n")


async def test_a_session_does_not_leave_the_allowed_paths(home: Path) -> None:
    session = Session(ctx=ToolContext(working_dir=home, allowed_paths=(home,)))
    gone = await session.run("cd /; export A=1")
    assert gone.notes == (f"The session stays in {home}. The working directory '/' is outside the allowed paths.",)
    assert await say(session, "pwd; echo $A") == f"{home}\n1\n"


async def test_shell_that_cannot_report_its_state_gets_a_note(home: Path) -> None:
    session = Session(ctx=ToolContext(working_dir=home))
    for text in ("exec true", "trap : EXIT; cd /; exit 0"):
        (note,) = (await session.run(text)).notes
        assert note.startswith("The shell did not report its directory and variables")
        assert session.cwd == str(home)


async def test_two_sessions_do_not_share_state(home: Path) -> None:
    one, two = (Session(ctx=ToolContext(working_dir=home)) for _ in range(2))
    await one.run("cd below; export A=1")
    assert await say(two, "pwd; echo ${A-none}") == f"{home}\nnone\n"


async def test_secret_variables_are_not_in_a_session(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_TOKEN", "abcdefgh12345678")
    session = Session(ctx=ToolContext(working_dir=home))
    await session.run("export A=1")
    assert await say(session, "echo ${MY_API_TOKEN-none}") == "none\n"
    assert "MY_API_TOKEN" not in session.env_changes


async def test_session_with_a_thrown_cancel_switch_starts_nothing(home: Path) -> None:
    cancel = Cancel()
    session = Session(ctx=ToolContext(working_dir=home, cancel=cancel))
    await session.run("export A=1")
    cancel.cancel()
    result = await session.run("touch started")
    assert (result.outcome, (home / "started").exists(), session.env_changes["A"]) == (Cancelled(), False, "1")


@pytest.mark.linux
async def test_session_does_not_read_an_oversized_state_file() -> None:
    session = Session()
    result = await session.run("python3 -IS -c 'import os; os.ftruncate(63, 1 << 44)'; exit 0")
    assert result.notes[-1].startswith("The shell did not report")


@pytest.mark.linux
async def test_variables_of_the_private_directory_do_not_carry_over(tmp_path: Path) -> None:
    session = Session(ctx=ToolContext(access="workspace", working_dir=tmp_path))
    await session.run("export COLOUR=blue")
    assert dict(session.env_changes) == {"COLOUR": "blue"}


@pytest.mark.parametrize("directory", ["rel", "..", "", "/no/such/place"])
async def test_session_stays_usable_after_an_invalid_directory_in_the_exit_state(home: Path, directory: str) -> None:
    session = Session(ctx=ToolContext(working_dir=home))
    await session.run(rf"printf '{directory}\0\0' >&63; NACRE_TOLD=1")
    assert os.path.isabs(session.cwd)
    assert await say(session, "echo well") == "well\n"
