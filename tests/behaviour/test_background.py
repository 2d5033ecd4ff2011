"""Background commands: they start at once, any process of the user can follow them, and a kill ends the whole tree."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from nacre import Bash, InvalidRequest, Limits, Request, Result, ToolContext
from nacre.result import Exited, Killed, OverLimit, Refused, Running, Signalled, TimedOut
from nacre.tasks import Match, Port, Tasks
from tests.support.lifeline import Lifeline
from tests.support.quoting import quote
from tests.support.waiting import HANG_TIMEOUT_S, TIME_LIMITS_S, until

LINUX = pytest.mark.linux


async def start(bash: Bash, command: str, ctx: ToolContext | None = None, **asked: object) -> str:
    """Start the command; return the id of the running task."""
    result = await bash.run(Request(command, mode="background", **asked), ctx)  # type: ignore[arg-type]
    assert isinstance(result.outcome, Running), result
    assert result.task is not None
    return result.task.id


@pytest.fixture
def tasks() -> Tasks:
    return Tasks()


@pytest.mark.req("M-05", "P-003", "M-06")
async def test_background_command_returns_a_task_at_once_and_its_end_is_recorded(
    bash: Bash, tasks: Tasks, tmp_path: Path
) -> None:
    command = "echo out; echo err >&2; read line; exit 7"
    result = await bash.run(
        Request(command, mode="background", description="Say it", open_stdin=True, cwd=tmp_path),
        ToolContext(conversation_id="talk"),
    )
    assert result.task is not None
    assert (result.outcome, result.ok) == (Running(result.task.id), True)
    task = tasks.get(result.task.id)
    assert task.id.startswith("bash-")
    assert (task.state, task.kind, task.command, task.description, task.cwd, task.conversation) == (
        "running",
        "background",
        command,
        "Say it",
        str(tmp_path),
        "talk",
    )
    assert (task.pid, task.pgid, task.output_file, task.owner_pid) == (
        result.task.pid,
        result.task.pgid,
        result.task.output_file,
        os.getpid(),
    )
    await tasks.write(task.id, "go on\n")
    await tasks.wait(task.id, timeout=HANG_TIMEOUT_S)
    task = tasks.get(task.id)
    assert (task.state, task.outcome, task.exit_code, task.alive) == ("ended", Exited(7), 7, False)
    assert sorted(tasks.output(task.id).text.splitlines()) == ["err", "out"]
    lines = Path(task.output_file).read_text().splitlines()
    assert sorted(lines[:2]) == ["err", "out"]
    assert lines[2].startswith("[nacre: exit 7 after ")


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("no-such-program-anywhere", 127, "not found"),
        ("if then fi", 2, "syntax error"),
        ("cd /no/such/place && sleep 9", 1, "No such file"),
        ("echo fine", 0, "fine"),
    ],
)
@LINUX
async def test_background_command_that_exits_at_once_is_reported_in_the_same_call(
    bash: Bash, tasks: Tasks, command: str, code: int, words: str
) -> None:
    result = await bash.run(Request(command, mode="background"))
    assert (result.outcome, words in result.output) == (Exited(code), True)
    assert result.task is not None
    assert tasks.get(result.task.id).exit_code == code


async def test_refused_background_command_makes_no_task(bash: Bash, tmp_path: Path) -> None:
    result = await bash.run(Request("rm -rf /", mode="background"), ToolContext(output_dir=tmp_path))
    assert isinstance(result.outcome, Refused)
    assert (result.task, os.listdir(tmp_path)) == (None, [])


async def test_output_dir_that_cannot_be_created_raises_task_not_kept(bash: Bash, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidRequest, match="Not a directory") as caught:
        await bash.run(Request("true", mode="background"), ToolContext(output_dir=tmp_path / "file" / "below"))
    assert caught.value.code == "task_not_kept"


async def test_tasks_over_the_limit_are_refused_and_running_ones_are_listed(
    bash: Bash, tasks: Tasks, tmp_path: Path
) -> None:
    ctx = ToolContext(output_dir=tmp_path, limits=Limits(tasks=2))
    mine = Tasks(tmp_path)
    first = await start(bash, "sleep 61", ctx)
    await start(bash, "sleep 62", ctx)
    with pytest.raises(InvalidRequest) as caught:
        await bash.run(Request("sleep 63", mode="background"), ctx)
    assert (caught.value.code, "sleep 61" in str(caught.value), first in str(caught.value)) == (
        "too_many_tasks",
        True,
        True,
    )
    assert len(mine.list()) == 2
    await mine.kill(first)
    await start(bash, "sleep 63", ctx)
    for task in mine.list():
        await mine.kill(task.id, grace=0)


async def test_task_files_in_a_given_output_dir_are_private(bash: Bash, tmp_path: Path) -> None:
    task = await start(bash, "sleep 60", ToolContext(output_dir=tmp_path / "here"))
    place = tmp_path / "here" / task
    modes = {name: (place / name).lstat().st_mode & 0o777 for name in os.listdir(place)}
    assert place.stat().st_mode & 0o777 == 0o700
    assert set(modes.values()) == {0o600}
    assert {"task.json", "process.json", "output.log", "control"} <= modes.keys()
    assert (await Tasks(tmp_path / "here").kill(task)).state == "ended"


async def test_task_output_written_to_dev_stdout_and_dev_stderr_is_kept(bash: Bash, tasks: Tasks) -> None:
    task = await start(
        bash, "read; echo 1; echo 2 > /dev/stdout; echo 3 | tee /dev/stderr; echo 4 >> /dev/stderr", open_stdin=True
    )
    await tasks.write(task, "\n", close=True)
    await tasks.wait(task, timeout=HANG_TIMEOUT_S)
    assert tasks.output(task).text == "1\n2\n3\n3\n4\n"


async def test_python_output_of_a_task_is_unbuffered(bash: Bash, tasks: Tasks) -> None:
    task = await start(bash, "python3 -c 'print(\"ready\"); import signal; signal.pause()'")
    waited = await tasks.wait(task, until=Match("ready"), timeout=HANG_TIMEOUT_S)
    assert waited.met == (task,)
    await tasks.kill(task, grace=0)


async def test_task_that_floods_keeps_its_log_within_the_cap_and_can_be_killed(
    bash: Bash, tasks: Tasks, tmp_path: Path
) -> None:
    cap = 1 << 20
    ctx = ToolContext(output_dir=tmp_path, limits=Limits(log=cap))
    mine = Tasks(tmp_path)
    task = await start(bash, "yes flood", ctx)
    place = tmp_path / task
    most = 0

    def size(name: str) -> int:
        try:
            return (place / name).stat().st_size
        except FileNotFoundError:  # it vanished just now
            return 0

    def has_flooded() -> bool:
        nonlocal most
        most = max(most, sum(size(name) for name in os.listdir(place) if name.startswith("output")))
        return mine.get(task).bytes > 64 * cap

    await until(has_flooded, "64 times the cap")
    ended = await mine.kill(task)
    assert isinstance(ended.outcome, Killed)
    most = max(most, (place / "output.log").stat().st_size)
    assert most <= cap + 4096
    assert ended.dropped > 62 * cap
    assert ended.bytes - ended.dropped > cap // 2
    output = mine.output(task, since=-12)
    assert (output.data, output.cursor) == (b"flood\nflood\n", ended.bytes)
    assert b" bytes left out]\n" in (place / "output.log").read_bytes()


async def test_a_task_can_have_a_timeout(bash: Bash, tasks: Tasks) -> None:
    for limit in TIME_LIMITS_S:
        task = await start(bash, "echo begun; sleep 60", timeout=limit)
        await tasks.wait(task, timeout=limit + HANG_TIMEOUT_S)
        output = tasks.output(task)
        if output.text:
            break
    assert (output.task.outcome, output.text) == (TimedOut(limit), "begun\n")


async def test_task_timeout_may_exceed_the_longest_wait_of_the_kernel(bash: Bash, tasks: Tasks) -> None:
    task = await start(bash, "read line", open_stdin=True, timeout=1e8)
    await tasks.write(task, "go\n")
    await tasks.wait(task, timeout=HANG_TIMEOUT_S)
    assert tasks.get(task).outcome == Exited(0)


@pytest.mark.req("P-003")
async def test_task_whose_process_group_is_killed_by_hand_reports_the_signal(bash: Bash, tasks: Tasks) -> None:
    task = await start(bash, "echo begun; sleep 60; echo never")
    await tasks.wait(task, until=Match("begun"), timeout=HANG_TIMEOUT_S)
    pgid = tasks.get(task).pgid
    assert pgid is not None
    os.killpg(pgid, signal.SIGKILL)
    await tasks.wait(task, timeout=HANG_TIMEOUT_S)
    ended = tasks.get(task)
    assert ended.outcome == Signalled(signal.SIGKILL)
    assert Path(ended.output_file).read_text().splitlines()[-1].startswith("[nacre: ended by SIGKILL after ")


ESCAPES = {
    "setsid": "setsid bash -c '{hold} sleep 60' & {hold} sleep 60",
    "double-fork": "(bash -c '{hold} setsid sleep 60 &' &) ; {hold} sleep 60",
    "ignores-term": "trap '' TERM; {hold} sleep 60; sleep 60",
    "nohup-disown": "nohup bash -c '{hold} sleep 60' >/dev/null 2>&1 & disown; {hold} sleep 60",
}


@LINUX
@pytest.mark.parametrize("way", ESCAPES)
async def test_killing_a_task_leaves_no_process_alive(bash: Bash, tasks: Tasks, life: Lifeline, way: str) -> None:
    task = await start(bash, ESCAPES[way].replace("{hold}", life.hold))
    holders = ESCAPES[way].count("{hold}")
    await until(lambda: life.holders >= holders, "all of it to run")
    ended = await tasks.kill(task, grace=0.2)
    await life.wait_until_ended()
    assert isinstance(ended.outcome, Killed)
    assert ended.outcome.by == f"process {os.getpid()} of user {os.geteuid()}"
    assert ended.running == ()


async def test_task_runs_its_trap_for_the_signal_given_to_kill(bash: Bash, tasks: Tasks) -> None:
    task = await start(bash, "trap 'echo bye; exit 3' INT; echo ready; while :; do sleep 0.05; done")
    await tasks.wait(task, until=Match("ready"), timeout=HANG_TIMEOUT_S)
    ended = await tasks.kill(task, signal="INT")
    assert isinstance(ended.outcome, Killed)
    assert ended.outcome.signal == signal.SIGINT
    assert tasks.output(task).text == "ready\nbye\n"


@LINUX
async def test_task_stays_alive_while_a_leftover_of_its_shell_runs(bash: Bash, tasks: Tasks, life: Lifeline) -> None:
    task = await start(bash, f"(exec 7>{quote(life.path)}; echo held >&7; sleep 60) & sleep 0.2; exit 4")
    await life.wait_until_held()
    await until(lambda: not os.path.exists(f"/proc/{tasks.get(task).pid}/exe"), "the shell's end")
    assert tasks.get(task).alive
    ended = await tasks.kill(task)
    await life.wait_until_ended()
    assert isinstance(ended.outcome, Killed)


async def test_leftovers_option_end_kills_leftovers_of_a_task_when_its_shell_exits(
    bash: Bash, tasks: Tasks, life: Lifeline
) -> None:
    task = await start(bash, f"{life.hold} sleep 60 & sleep 0.1; exit 4", leftovers="end")
    await tasks.wait(task, timeout=HANG_TIMEOUT_S)
    await life.wait_until_ended()
    assert tasks.get(task).outcome == Exited(4)


async def test_server_task_answers_on_its_port_until_it_is_killed(bash: Bash, tasks: Tasks) -> None:
    """The server chooses its port itself: a port that was free a moment ago may be in use by now."""
    task = await start(bash, "exec python3 -u -m http.server 0 --bind 127.0.0.1")
    told = await tasks.wait(task, until=Match(r"port \d+"), timeout=HANG_TIMEOUT_S)
    port = int(told.match[task].partition("port ")[2].split()[0])
    waited = await tasks.wait(task, until=Port(port), timeout=HANG_TIMEOUT_S)
    assert waited.met == (task,)
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(b"HEAD / HTTP/1.0\r\n\r\n")
        assert b"200 OK" in line.recv(4096)
    await tasks.kill(task)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


@LINUX
async def test_sandboxed_task_is_restricted_and_its_private_directory_removed(
    bash: Bash, tmp_path: Path, tasks: Tasks
) -> None:
    if "restricted" not in bash.access_modes:
        pytest.skip("no sandbox on this kernel")
    ctx = ToolContext(access="restricted")
    result: Result = await bash.run(
        Request(f"echo $TMPDIR; echo x > \"$TMPDIR/x\" && cat \"$TMPDIR/x\"; echo > {quote(tmp_path)}/y; read",
                mode="background", open_stdin=True),
        ctx,
    )  # fmt: skip
    assert result.task is not None
    assert {"writes", "network"} <= set(result.enforced)
    await tasks.wait(result.task.id, until=Match("denied"), timeout=HANG_TIMEOUT_S)
    scratch, said, *_ = tasks.output(result.task.id).text.splitlines()
    assert (said, os.path.isdir(scratch), (tmp_path / "y").exists()) == ("x", True, False)
    await tasks.write(result.task.id, "", close=True)
    await tasks.wait(result.task.id, timeout=HANG_TIMEOUT_S)
    await until(lambda: not os.path.exists(scratch), "its private directory to go")


@LINUX
async def test_memory_limit_kills_a_task(bash: Bash, tasks: Tasks) -> None:
    hog = "python3 -c 'import signal; x = bytearray(300 << 20); signal.pause()'"
    task = await start(bash, hog, ToolContext(limits=Limits(memory=150 << 20)))
    await tasks.wait(task, timeout=HANG_TIMEOUT_S)
    ended = tasks.get(task)
    assert isinstance(ended.outcome, OverLimit)
    assert (ended.outcome.limit, ended.outcome.allowed) == ("memory", 150 << 20)


async def test_background_call_does_not_wait_for_a_job_that_its_shell_leaves(
    bash: Bash, tasks: Tasks, life: Lifeline
) -> None:
    task = await start(bash, f"{life.hold} sleep 60 & :")
    assert tasks.get(task).alive
    await tasks.kill(task)
    await life.wait_until_ended()


async def test_task_with_a_command_of_2_mb_keeps_it_whole_and_can_be_killed(bash: Bash, tasks: Tasks) -> None:
    command = f"# {'x' * 2_000_000}\nsleep 60"
    task = await start(bash, command)
    found = tasks.get(task)
    assert (found.command[:4], len(found.command) < 20_000) == ("# xx", True)
    assert Path(found.directory, "command.txt").read_text() == command
    assert isinstance((await tasks.kill(task)).outcome, Killed)


async def test_task_directories_are_private_whatever_the_umask(bash: Bash, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        task = await start(bash, "sleep 60", ToolContext(output_dir=tmp_path / "a" / "b"))
    finally:
        os.umask(before)
    places = [tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / ".live", tmp_path / "a" / "b" / task]
    assert {place.stat().st_mode & 0o777 for place in places} == {0o700}
    await Tasks(tmp_path / "a" / "b").kill(task)
