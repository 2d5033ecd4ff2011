"""Runs that become tasks: because their caller waits no longer, or because of their leftovers."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest

from nacre import Bash, Chunk, Ended, Limits, Profile, Request, Result, Session, Started, ToolContext
from nacre.result import Exited, Killed, Lost, NotStarted, Running, Signalled, TimedOut
from nacre.tasks import Match, Tasks, create
from tests.support.hosts import run_host
from tests.support.lifeline import Gate, Lifeline
from tests.support.quoting import quote
from tests.support.waiting import HANG_TIMEOUT_S, TIME_LIMITS_S, until


@pytest.fixture
def tasks() -> Tasks:
    return Tasks()


def task_of(result: Result) -> str:
    assert result.task is not None, result
    return result.task.id


async def test_run_that_exceeds_yield_after_becomes_a_task_with_all_its_output(
    bash: Bash, tasks: Tasks, gate: Gate
) -> None:
    count = f"for i in $(seq 20); do echo $i; echo e$i >&2; [ $i != 2 ] || {gate.wait}; done; exit 7"
    for limit in TIME_LIMITS_S:
        events = [event async for event in bash.stream(Request(count, yield_after=limit))]
        last = events[-1]
        assert isinstance(last, Ended)
        result = last.result
        task = task_of(result)
        if result.stderr == "e1\ne2\n":
            break
        await tasks.kill(task, grace=0)
    assert (result.outcome, result.ok, result.pid) == (Running(task, promoted=True), False, tasks.get(task).pid)
    assert result.stdout == "".join(
        event.text for event in events if isinstance(event, Chunk) and event.stream == "stdout"
    )
    assert (result.stdout, result.stderr) == ("1\n2\n", "e1\ne2\n")
    assert any(task in note for note in result.notes)
    gate.open()
    await tasks.wait(task, timeout=HANG_TIMEOUT_S)
    output = tasks.output(task)
    assert output.task.outcome == Exited(7)
    assert output.task.kind == "promoted"
    lines = output.text.split()
    assert [line for line in lines if line.isdigit()] == [str(n) for n in range(1, 21)]
    assert [line for line in lines if not line.isdigit()] == [f"e{n}" for n in range(1, 21)]
    assert output.data.startswith(result.both.head)


async def test_run_that_exits_before_yield_after_makes_no_task(bash: Bash, tmp_path: Path) -> None:
    result = await bash.run(Request("echo done; exit 3", yield_after=30), ToolContext(output_dir=tmp_path))
    assert (result.outcome, result.output, result.task, os.listdir(tmp_path)) == (Exited(3), "done\n", None, [])


@pytest.mark.parametrize("size", [3_000_000, 30_000_000])
async def test_output_beyond_memory_before_promotion_is_whole_in_the_task_log(
    bash: Bash, tasks: Tasks, tmp_path: Path, size: int
) -> None:
    command = f"echo begun; head -c {size} /dev/zero | tr '\\0' x; echo; touch {quote(tmp_path)}/printed; sleep 60"
    task = task_of(await bash.run(Request(command, yield_after=2)))
    await until((tmp_path / "printed").exists, "all of it")  # usually this was before it became a task
    await tasks.kill(task, grace=0)
    log = Path(tasks.get(task).output_file).read_bytes()
    assert log.startswith(b"begun\n" + b"x" * size + b"\n")


async def test_output_beyond_the_log_cap_before_promotion_is_counted(bash: Bash, tmp_path: Path) -> None:
    ctx = ToolContext(output_dir=tmp_path, limits=Limits(log=1 << 20, output=1 << 16, spill=1 << 20))
    mine = Tasks(tmp_path)
    command = f"seq 1000000; echo last; touch {quote(tmp_path)}/printed; sleep 60"
    task = task_of(await bash.run(Request(command, yield_after=1.5), ctx))
    await until((tmp_path / "printed").exists, "all of it")  # usually this was before it became a task
    ended = await mine.kill(task, grace=0)
    assert ended.bytes == 6888896 + 5
    assert 0 < ended.bytes - ended.dropped <= 1 << 20
    assert mine.output(task).text.startswith("1\n2\n3\n")


async def test_profile_can_promote_runs_on_timeout(tasks: Tasks) -> None:
    bash = Bash(Profile(name="patient", timeout=0.3, on_timeout="promote"))
    result = await bash.run("echo begun; sleep 60")
    assert result.outcome == Running(task_of(result), promoted=True)
    assert (await tasks.wait(task_of(result), until=Match("begun"), timeout=HANG_TIMEOUT_S)).met
    await tasks.kill(task_of(result), grace=0)


async def test_timeout_after_promotion_still_kills_the_task(bash: Bash, tasks: Tasks) -> None:
    for limit in TIME_LIMITS_S:
        result = await bash.run(Request("sleep 60", timeout=limit, yield_after=0.1))
        if result.outcome != TimedOut(limit):
            break
    await tasks.wait(task_of(result), timeout=limit + HANG_TIMEOUT_S)
    assert tasks.get(task_of(result)).outcome == TimedOut(limit)


async def test_timeout_before_yield_after_kills_the_run(bash: Bash) -> None:
    result = await bash.run(Request("sleep 60", timeout=0.2, yield_after=9))
    assert (result.outcome, result.task) == (TimedOut(0.2), None)


async def test_cancelled_call_kills_a_run_that_is_not_yet_a_task(bash: Bash, life: Lifeline) -> None:
    running = asyncio.create_task(bash.run(Request(f"{life.hold} sleep 60", yield_after=30)))
    await until(lambda: life.holders, "it to run")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await life.wait_until_ended()


async def test_run_that_cannot_become_a_task_completes_with_a_note(
    bash: Bash, tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    promote = create.promote

    async def promote_and_open(*given: Any) -> Any:
        try:
            return await promote(*given)
        finally:
            gate.open()

    monkeypatch.setattr(create, "promote", promote_and_open)
    (tmp_path / "file").touch()
    ctx = ToolContext(output_dir=tmp_path / "file")
    with pytest.raises(Exception, match="output_dir"):
        await bash.run("true", ctx)
    below = tmp_path / "place"
    below.mkdir()
    (below / ".live").touch()  # a file in place of the directory
    result = await bash.run(Request(f"echo a; {gate.wait}; echo b", yield_after=0.1), ToolContext(output_dir=below))
    assert (result.outcome, result.output, result.task) == (Exited(0), "a\nb\n", None)
    assert "could not become a background task" in result.notes[0]


async def test_session_state_is_unchanged_when_its_command_becomes_a_task(tmp_path: Path, tasks: Tasks) -> None:
    session = Session(ctx=ToolContext(working_dir=tmp_path))
    result = await session.run(Request("export A=1; cd /; sleep 60", yield_after=0.2))
    assert (session.cwd, dict(session.env_changes)) == (str(tmp_path), {})
    await tasks.kill(task_of(result), grace=0)
    background = await session.run(Request("export A=1; cd /; sleep 60", mode="background"))
    assert not [note for note in background.notes if "session" in note]
    await tasks.kill(task_of(background), grace=0)
    assert (await session.run("echo $PWD")).output == f"{tmp_path}\n"


# leftovers


async def test_leftover_becomes_a_task_that_can_be_read_and_killed(bash: Bash, tasks: Tasks, gate: Gate) -> None:
    result = await bash.run(f"({gate.wait}; while :; do echo tick; sleep 0.05; done) & echo started")
    task = task_of(result)
    assert (result.outcome, result.output) == (Exited(0), "started\n")
    assert any(task in note for note in result.notes)
    assert tasks.get(task).kind == "adopted"
    gate.open()
    waited = await tasks.wait(task, until=Match("tick"), timeout=HANG_TIMEOUT_S)
    assert waited.met == (task,)
    ended = await tasks.kill(task)
    assert isinstance(ended.outcome, Killed)
    assert tasks.output(task).text.startswith("tick\n")


@pytest.mark.linux
@pytest.mark.parametrize(("end", "outcome"), [("exit 5", Exited(5)), ("kill -9 $BASHPID", Signalled(signal.SIGKILL))])
async def test_exit_status_of_an_adopted_task_is_known(
    bash: Bash, tasks: Tasks, gate: Gate, end: str, outcome: object
) -> None:
    for _ in range(10):  # at once: it may be dead before its keeper has polled
        result = await bash.run(f"({gate.wait}; {end}) & echo started")
        gate.open()
        await tasks.wait(task_of(result), timeout=HANG_TIMEOUT_S)
        assert tasks.get(task_of(result)).outcome == outcome


async def test_adopted_task_ends_with_its_host_unless_it_is_detached(tasks: Tasks) -> None:
    program = """
        import asyncio, sys
        from nacre import Bash, Request
        async def main():
            for leftovers in ("keep", "detach"):
                result = await Bash().run(Request("sleep 60 & echo started", leftovers=leftovers))
                print(result.task.id)
        asyncio.run(main())
    """
    kept, detached = run_host(program).split()
    await tasks.wait(kept, timeout=HANG_TIMEOUT_S)
    ended = tasks.get(kept)
    assert ended.outcome == Killed(by="the end of its host", signal=15)
    assert tasks.get(detached).alive
    assert isinstance((await tasks.kill(detached)).outcome, Killed)


async def test_sleep_while_a_task_runs_gets_a_note_about_nacre_wait(bash: Bash, tmp_path: Path) -> None:
    ctx = ToolContext(output_dir=tmp_path)
    before = await bash.run("sleep 1; echo look", ctx)
    result = await bash.run(Request("sleep 60", mode="background"), ctx)
    during = await bash.run("sleep 1; echo look", ctx)
    assert (before.notes, ["nacre wait" in note for note in during.notes]) == ((), [True])
    await Tasks(tmp_path).kill(task_of(result), grace=0)


@pytest.mark.linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_keeper_killed_or_stopped_before_promotion_hangs_no_caller(bash: Bash, tasks: Tasks, number: int) -> None:
    result = None
    async for event in bash.stream(Request("sleep 60", yield_after=60 if number == signal.SIGKILL else 0.5)):
        if isinstance(event, Started):
            os.kill(int(Path(f"/proc/{event.pid}/stat").read_text().rpartition(")")[2].split()[1]), number)
        elif isinstance(event, Ended):
            result = event.result
    assert result is not None
    if number == signal.SIGKILL:
        assert (type(result.outcome), result.task) == (Lost, None)
    else:
        assert isinstance(result.outcome, Running)
        await tasks.kill(task_of(result), grace=0)


@pytest.mark.linux
async def test_run_that_exits_during_promotion_loses_no_output(bash: Bash, tasks: Tasks) -> None:
    """Its last line is in the result, whichever came first; its leftover is a task either way."""
    for number in range(30):
        delay = 0.1 + number / 500
        result = await bash.run(Request(f"sleep 60 & echo first; sleep {delay}; echo last", yield_after=0.13))
        task, said = task_of(result), result.output
        if isinstance(result.outcome, Running):
            await tasks.wait(task, until=Match("last"), timeout=HANG_TIMEOUT_S)
            said = tasks.output(task).text
        assert said == "first\nlast\n"
        assert not any("could not" in note or "is no task" in note for note in result.notes)
        await tasks.kill(task, grace=0)


@pytest.mark.linux
@pytest.mark.parametrize("leftovers", ["keep", "detach"])
async def test_private_directories_are_removed_after_promoted_runs(
    bash: Bash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leftovers: Any
) -> None:
    if "restricted" not in bash.access_modes:
        pytest.skip("no sandbox on this kernel")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ctx = ToolContext(access="restricted", output_dir=tmp_path / "store")
    request = Request("sleep 0.1", yield_after=0.05, leftovers=leftovers)
    results = await asyncio.gather(*(bash.run(request, ctx) for _ in range(20)))
    mine = Tasks(tmp_path / "store")
    await mine.wait([result.task.id for result in results if result.task is not None], timeout=HANG_TIMEOUT_S)
    await until(lambda: not [name for name in os.listdir(tmp_path) if name.startswith("nacre-")], "their end")


async def test_run_promoted_before_it_fails_to_start_reports_not_started(bash: Bash, tmp_path: Path) -> None:
    request = Request("true", yield_after=0.0001, env={"LARGE": "x" * 200_000})
    for _ in range(10):
        result = await bash.run(request, ToolContext(output_dir=tmp_path))
        assert isinstance(result.outcome, NotStarted)
        assert result.task is None


async def test_output_printed_during_promotion_is_in_the_task_log(bash: Bash, tmp_path: Path, gate: Gate) -> None:
    """The promotion is requested before the keeper reports that the shell has started."""
    mine = Tasks(tmp_path / "tasks")
    for _ in range(30):
        request = Request(f"echo first; {gate.wait}; echo last", yield_after=0.0001)
        task = task_of(await bash.run(request, ToolContext(output_dir=tmp_path / "tasks")))
        gate.open()
        await mine.wait(task, timeout=HANG_TIMEOUT_S)
        assert mine.output(task).text == "first\nlast\n"
