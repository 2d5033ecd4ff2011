"""Ways to cancel a run. Each kills the whole tree."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from nacre import Bash, Cancel, Ended, Request, Result, Session, Started, ToolContext, run_sync
from nacre.keeper.client.connection import keeper_connection
from nacre.result import Cancelled, Exited
from tests.support.census import fds, state
from tests.support.commands import STUBBORN
from tests.support.hosts import started_host
from tests.support.lifeline import Lifeline
from tests.support.plain_bash import captured_text
from tests.support.queue import in_queue
from tests.support.quoting import quote
from tests.support.waiting import TIME_LIMITS_S, turn_loop, until


@contextlib.contextmanager
def switch_thrown_by_a_thread(life: Lifeline) -> Iterator[Cancel]:
    """Yield a switch that a thread throws once a process holds the line."""
    cancel = Cancel()

    def throw() -> None:
        life.wait_held()
        cancel.cancel()

    thread = threading.Thread(target=throw)
    thread.start()
    yield cancel
    thread.join()


@pytest.mark.req("K-07", "M-11")
async def test_cancelling_the_asyncio_task_leaves_no_process_alive(bash: Bash, life: Lifeline) -> None:
    task = asyncio.create_task(bash.run(f"{life.hold} {STUBBORN}"))
    await life.wait_until_held()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await life.wait_until_ended()


@pytest.mark.linux
@pytest.mark.parametrize("switched", [True, False])
async def test_run_cancelled_before_the_keeper_reads_its_request_never_starts(
    bash: Bash, tmp_path: Path, switched: bool
) -> None:
    await bash.run("true")
    keeper, cancel = keeper_connection().pid, Cancel()
    for number in range(20):
        os.kill(keeper, signal.SIGSTOP)  # cancelling a run wakes it
        await until(lambda: state(keeper) == "T", "the keeper to stand still")
        run = asyncio.create_task(bash.run(f"touch {quote(tmp_path / str(number))}", ToolContext(cancel=cancel)))
        await turn_loop(10)  # until the request is sent
        if switched:
            cancel.cancel()
            assert (await run).outcome == Cancelled()
            cancel = Cancel()
        else:
            run.cancel()
            await asyncio.gather(run, return_exceptions=True)
    assert (await bash.run(Request("ls; echo end", cwd=tmp_path))).output == "end\n"
    assert keeper_connection().pid == keeper


@pytest.mark.req("K-07")
async def test_asyncio_task_can_be_cancelled_at_any_stage_of_the_start(bash: Bash, life: Lifeline) -> None:
    await bash.run(f"{life.hold}")
    before = fds(os.getpid())
    for moments in range(25):
        task = asyncio.create_task(bash.run(f"{life.hold} sleep 999"))
        await turn_loop(moments)  # stop at each stage of the start
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await life.wait_until_ended()
    await until(lambda: fds(os.getpid()) == before, f"as many descriptors as before, {before}")


@pytest.mark.req("K-07", "P-010")
async def test_cancel_switch_thrown_by_another_thread_kills_the_run(bash: Bash, life: Lifeline) -> None:
    command = f"echo partial; {life.hold} {STUBBORN}"
    with switch_thrown_by_a_thread(life) as cancel:
        result = await bash.run(Request(command), ToolContext(cancel=cancel))
    assert result == Result(
        command=command,
        cwd=os.getcwd(),
        outcome=Cancelled(),
        out=captured_text("partial\n"),
        err=result.err,
        both=result.both,
        duration=result.duration,
        pid=result.pid,
    )
    assert life.over


async def test_cancel_switch_kills_every_run_that_has_it_and_no_other(
    bash: Bash, life: Lifeline, other_life: Lifeline
) -> None:
    cancel, spared = Cancel(), Cancel()
    held = [bash.run(f"{life.hold} sleep 999", ToolContext(cancel=cancel)) for _ in range(5)]
    runs = asyncio.gather(*held)
    other = asyncio.create_task(bash.run(f"{other_life.hold} sleep 999", ToolContext(cancel=spared)))
    await life.wait_until_held(by=5)
    await other_life.wait_until_held()
    cancel.cancel()
    assert [result.outcome for result in await runs] == [Cancelled()] * 5
    assert (life.over, other_life.over, other.done()) == (True, False, False)
    spared.cancel()
    assert (await other).outcome == Cancelled()


async def test_cancel_switch_thrown_before_the_call_starts_nothing(bash: Bash, tmp_path: Path) -> None:
    cancel = Cancel()
    cancel.cancel()
    result = await bash.run(Request("touch started", cwd=tmp_path), ToolContext(cancel=cancel))
    assert result == Result(command="touch started", cwd=str(tmp_path), outcome=Cancelled())
    assert not (tmp_path / "started").exists()


async def test_cancel_switch_may_be_thrown_twice_after_the_run_has_ended(bash: Bash) -> None:
    cancel = Cancel()
    result = await bash.run("echo done", ToolContext(cancel=cancel))
    cancel.cancel()
    cancel.cancel()
    assert result.outcome == Exited(0)


async def test_cancel_switch_thrown_as_runs_exit_harms_neither_them_nor_the_keeper(bash: Bash) -> None:
    """The keeper has reported their exits by then, and no longer listens."""
    keeper = (await bash.run("echo $PPID")).stdout
    for _ in range(5):
        cancel = Cancel()
        runs = [asyncio.create_task(bash.run("true", ToolContext(cancel=cancel))) for _ in range(100)]
        await runs[0]
        cancel.cancel()
        outcomes = {(await run).outcome for run in runs}
        assert outcomes <= {Exited(0), Cancelled()}
    assert (await bash.run("echo $PPID")).stdout == keeper


async def test_queued_run_is_cancelled_by_its_cancel_switch(life: Lifeline, tmp_path: Path) -> None:
    bash, cancel, first_cancel = Bash(max_running=1), Cancel(), Cancel()
    first = asyncio.create_task(bash.run(f"{life.hold} sleep 999", ToolContext(cancel=first_cancel)))
    await life.wait_until_held()
    late = bash.run(Request("touch started", cwd=tmp_path), ToolContext(cancel=cancel))
    queued = await in_queue(bash._limiter, late)
    cancel.cancel()
    assert await queued == Result(command="touch started", cwd=str(tmp_path), outcome=Cancelled())
    assert not first.done()
    first_cancel.cancel()
    await first
    assert (await bash.run("echo next")).stdout == "next\n"
    assert not (tmp_path / "started").exists()


async def test_queued_run_is_cancelled_with_its_asyncio_task(life: Lifeline, tmp_path: Path) -> None:
    bash, cancel = Bash(max_running=1), Cancel()
    first = asyncio.create_task(bash.run(f"{life.hold} sleep 999", ToolContext(cancel=cancel)))
    await life.wait_until_held()
    queued = await in_queue(bash._limiter, bash.run(Request("touch started", cwd=tmp_path)))
    queued.cancel()
    with pytest.raises(asyncio.CancelledError):
        await queued
    cancel.cancel()
    await first
    assert (await bash.run("echo next")).stdout == "next\n"
    assert not (tmp_path / "started").exists()


async def test_anyio_cancel_scope_kills_the_run(bash: Bash, life: Lifeline) -> None:
    for limit in TIME_LIMITS_S:
        with anyio.move_on_after(limit) as scope:
            await bash.run(f"{life.hold} {STUBBORN}")
        assert scope.cancelled_caught
        if life.holders:
            break
    await life.wait_until_ended()


async def test_run_in_an_already_cancelled_anyio_scope_is_cancelled(bash: Bash) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await bash.run("sleep 999")
    assert scope.cancelled_caught


async def test_anyio_task_group_kills_its_runs_when_one_task_fails(bash: Bash, life: Lifeline) -> None:
    async def fail() -> None:
        await life.wait_until_held(by=3)
        raise RuntimeError("enough")

    async def run_three_and_fail() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(bash.run, f"{life.hold} {STUBBORN}")
            group.start_soon(fail)

    with pytest.raises(ExceptionGroup) as caught:
        await run_three_and_fail()
    assert [str(error) for error in caught.value.exceptions] == ["enough"]
    await life.wait_until_ended()


async def test_asyncio_timeout_kills_the_run(bash: Bash, life: Lifeline) -> None:
    for limit in TIME_LIMITS_S:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(bash.run(f"{life.hold} {STUBBORN}"), limit)
        if life.holders:
            break
    await life.wait_until_ended()


async def test_closing_a_stream_kills_the_run(bash: Bash, life: Lifeline) -> None:
    stream = bash.stream(f"{life.hold} echo first; {STUBBORN}")
    async for event in stream:
        if not isinstance(event, Started):
            break
    assert not life.over
    await stream.aclose()
    await life.wait_until_ended()


async def test_abandoning_a_stream_kills_the_run(bash: Bash, life: Lifeline) -> None:
    async for event in bash.stream(f"{life.hold} echo first; {STUBBORN}"):
        if not isinstance(event, Started):
            break
    await life.wait_until_ended()


async def test_closing_a_session_stream_kills_its_run_and_the_next_run_works(life: Lifeline) -> None:
    session = Session()
    async with contextlib.aclosing(session.stream(f"{life.hold} echo first; sleep 999")) as stream:
        async for event in stream:
            if not isinstance(event, Started):
                break
    assert (await session.run("echo next")).stdout == "next\n"
    await life.wait_until_ended()


async def test_cancelled_command_can_print_in_its_trap_without_sigpipe(
    bash: Bash, life: Lifeline, tmp_path: Path
) -> None:
    cleanup = "trap 'head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2; echo cleaned >f; exit 3' TERM"
    task = asyncio.create_task(bash.run(Request(f"{cleanup}; {life.hold} ({life.hold} exec sleep 999)", cwd=tmp_path)))
    await life.wait_until_held(by=2)  # the sleep, too: bash runs its trap only after its child has exited
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await life.wait_until_ended()
    file = tmp_path / "f"
    await until(lambda: file.exists() and file.read_text() == "cleaned\n", "the end of the clean-up")


async def test_child_gets_its_grace_period_even_if_its_shell_exits_first(
    bash: Bash, life: Lifeline, tmp_path: Path
) -> None:
    cancel = Cancel()
    child = f"trap 'sleep 0.3; echo cleaned >f; exit' TERM; {life.hold} while :; do sleep 0.05; done"
    request = Request(f"bash -c {shlex.quote(child)} & wait", cwd=tmp_path)
    task = asyncio.create_task(bash.run(request, ToolContext(cancel=cancel)))
    await life.wait_until_held()
    cancel.cancel()
    result = await task
    assert (result.outcome, life.over) == (Cancelled(), True)
    assert (tmp_path / "f").read_text() == "cleaned\n"


async def test_cancel_kills_commands_that_are_just_starting_a_program(bash: Bash, life: Lifeline) -> None:
    cancel = Cancel()
    text = f"trap 'echo bye; exit 3' TERM; {life.hold} sleep 999"
    runs = asyncio.gather(*(bash.run(text, ToolContext(cancel=cancel)) for _ in range(40)))
    await life.wait_until_held(by=20)
    cancel.cancel()
    held = [result for result in await runs if result.pid is not None]
    assert [result.outcome for result in held] == [Cancelled()] * len(held)
    assert life.over


async def test_output_printed_after_cancel_is_in_the_result(bash: Bash, life: Lifeline) -> None:
    cancel = Cancel()
    command = f"trap 'echo bye; exit 3' TERM; echo hello; ({life.hold} exec sleep 999)"
    task = asyncio.create_task(bash.run(command, ToolContext(cancel=cancel)))
    await life.wait_until_held()
    cancel.cancel()
    result = await task
    assert (result.outcome, result.stdout) == (Cancelled(), "hello\nbye\n")


def start_and_kill_host(life: Lifeline, program: str, command: str, *, runs: int = 1) -> None:
    """Start `runs` runs of the command, kill the host, and wait until no process of them is alive."""
    with started_host(program, f"{life.hold} {command}", runs) as host:
        life.wait_held(by=runs)
        host.kill()
        host.wait()
        life.wait_over()


SEVERAL_AT_ONCE = """
    import asyncio, nacre, sys
    async def main():
        await asyncio.gather(*(nacre.run(sys.argv[1]) for _ in range(int(sys.argv[2]))))
    asyncio.run(main())
"""


@pytest.mark.req("K-07", "M-11")
def test_killed_host_leaves_no_process_of_its_run_alive(life: Lifeline) -> None:
    start_and_kill_host(life, "import nacre, sys; nacre.run_sync(sys.argv[1])", STUBBORN)


def test_killed_host_leaves_no_process_of_its_twenty_runs_alive(life: Lifeline) -> None:
    start_and_kill_host(life, SEVERAL_AT_ONCE, STUBBORN, runs=20)


def test_killed_host_leaves_no_process_of_its_flooding_runs_alive(life: Lifeline) -> None:
    flood = "trap '' TERM PIPE; while :; do printf '%65536s' x; printf '%65536s' x >&2; done 2>/dev/null"
    start_and_kill_host(life, SEVERAL_AT_ONCE, flood, runs=8)


def test_cancel_switch_kills_a_synchronous_run(life: Lifeline) -> None:
    with switch_thrown_by_a_thread(life) as cancel:
        result = run_sync(f"{life.hold} sleep 999", cancel=cancel)
    assert (result.outcome, life.over) == (Cancelled(), True)


async def test_stream_cancelled_by_its_switch_still_ends_with_its_result(bash: Bash, life: Lifeline) -> None:
    cancel = Cancel()
    events = []
    async for event in bash.stream(f"{life.hold} sleep 999", ToolContext(cancel=cancel)):
        events.append(event)
        if isinstance(event, Started):
            await life.wait_until_held()
            cancel.cancel()
    assert [type(event) for event in events] == [Started, Ended]
    assert isinstance(events[-1], Ended)
    assert events[-1].result.outcome == Cancelled()


def test_cancel_switch_calls_each_registered_callback_once() -> None:
    cancel, called = Cancel(), []
    cancel.on_cancel(lambda: called.append("first"))
    cancel.on_cancel(lambda: called.append("forgotten"))()
    assert (cancel.cancelled, repr(cancel)) == (False, "<Cancel ready>")
    cancel.cancel()
    cancel.cancel()
    cancel.on_cancel(lambda: called.append("late"))
    assert (called, cancel.cancelled, repr(cancel)) == (["first", "late"], True, "<Cancel thrown>")
