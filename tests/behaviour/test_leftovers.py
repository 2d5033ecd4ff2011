"""Leftovers: processes that are alive when the shell has exited."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

import nacre
from nacre import Bash, Chunk, Ended, Request, Result, ToolContext
from nacre.result import Exited, Process, TimedOut
from tests.support.census import is_alive
from tests.support.hosts import run_host, started_host
from tests.support.lifeline import Gate, Lifeline
from tests.support.plain_bash import captured_text
from tests.support.quoting import quote
from tests.support.waiting import HANG_TIMEOUT_S, TIME_LIMITS_S


def end(*leftovers: Process) -> None:
    for process in leftovers:
        os.kill(process.pid, signal.SIGKILL)


async def test_command_returns_when_its_shell_exits_and_names_its_leftovers(bash: Bash) -> None:
    result = await asyncio.wait_for(bash.run("sleep 60 & echo $!; echo done"), HANG_TIMEOUT_S)
    sleeper = int(result.stdout.split()[0])
    assert result == Result(
        command="sleep 60 & echo $!; echo done",
        cwd=os.getcwd(),
        outcome=Exited(0),
        out=captured_text(f"{sleeper}\ndone\n"),
        both=captured_text(f"{sleeper}\ndone\n"),
        duration=result.duration,
        pid=result.pid,
        running=(Process(sleeper, result.pid or 0, "sleep 60"),),
        task=result.task,
        notes=(f"1 process left running: {sleeper} (sleep 60).", result.notes[-1]),
    )
    end(*result.running)


async def test_leftover_stays_alive_after_the_run(bash: Bash, life: Lifeline) -> None:
    result = await bash.run(f"{life.hold} sleep 60 & echo done")
    await bash.run("true")
    assert (result.stdout, life.over) == ("done\n", False)
    end(*result.running)
    await life.wait_until_ended()


async def test_leftover_that_floods_output_does_not_delay_the_command(bash: Bash) -> None:
    seen, last = b"", None
    async for event in bash.stream("yes >/dev/stdout & sleep 1; echo done"):
        if isinstance(event, Chunk):
            seen = seen[-5:] + event.data if b"done\n" not in seen else b"done\n"
        elif isinstance(event, Ended):
            last = event.result
    assert last is not None
    assert (last.outcome, [process.command for process in last.running]) == (Exited(0), ["yes"])
    assert b"done\n" in seen
    end(*last.running)


async def test_wait_builtin_in_a_command_waits_for_its_job(bash: Bash) -> None:
    result = await bash.run("sleep 1 & wait; echo waited")
    assert (result.outcome, result.stdout, result.running) == (Exited(0), "waited\n", ())
    assert result.duration >= 1


@pytest.mark.parametrize("ending", ["", "trap '' TERM;"], ids=["polite", "ignores-term"])
async def test_leftovers_option_end_kills_leftovers_before_the_call_returns(
    bash: Bash, life: Lifeline, ending: str
) -> None:
    command = f"{life.hold} ({ending} sleep 60; sleep 60) & setsid sleep 60 & echo done"
    result = await bash.run(Request(command, leftovers="end"))
    assert result == Result(
        command=command,
        cwd=os.getcwd(),
        outcome=Exited(0),
        out=captured_text("done\n"),
        both=captured_text("done\n"),
        duration=result.duration,
        pid=result.pid,
        killed_leftovers=result.killed_leftovers,
        notes=result.notes,
    )
    assert len(result.killed_leftovers) >= 2
    assert life.over


@pytest.mark.linux
async def test_daemon_forked_while_its_shell_exits_is_killed(bash: Bash, life: Lifeline) -> None:
    """Now and then its parent dies between two polls of the keeper."""
    for _ in range(60):
        result = await bash.run(Request(f"{life.hold} ( (setsid sleep 60 &) & ); exit 3", leftovers="end"))
        assert (result.outcome, result.running) == (Exited(3), ())
    await life.wait_until_ended()


async def test_result_names_the_killed_leftovers(bash: Bash) -> None:
    result = await bash.run(Request("sleep 60 & echo $!", leftovers="end"))
    sleeper = int(result.stdout)
    assert result.killed_leftovers == (Process(sleeper, result.pid or 0, "sleep 60"),)
    assert result.notes == (f"1 process left running and killed: {sleeper} (sleep 60).",)


async def test_exit_code_is_the_shells_own_when_leftovers_are_killed(bash: Bash) -> None:
    result = await bash.run(Request("sleep 60 & exit 7", leftovers="end"))
    assert (result.outcome, result.running) == (Exited(7), ())


@pytest.mark.parametrize("stream", ["", " >&2"], ids=["stdout", "stderr"])
async def test_leftover_that_prints_later_neither_blocks_nor_gets_sigpipe(
    bash: Bash, life: Lifeline, gate: Gate, tmp_path: Path, stream: str
) -> None:
    printer = f"({gate.wait}; head -c 8000000 /dev/zero{stream} && echo drained >drained) &"
    result = await bash.run(Request(f"{life.hold} {printer} echo done", cwd=tmp_path))
    assert (result.outcome, result.output) == (Exited(0), "done\n")
    gate.open()
    await life.wait_until_ended()
    assert (tmp_path / "drained").read_text() == "drained\n"


async def test_other_commands_run_while_a_leftover_floods(bash: Bash) -> None:
    flood = await bash.run("yes & yes >&2 & echo done")
    later = [await bash.run("echo later") for _ in range(20)]
    assert [(run.outcome, run.output) for run in later] == [(Exited(0), "later\n")] * 20
    end(*flood.running)


async def test_leftover_that_became_a_daemon_is_named(bash: Bash, life: Lifeline) -> None:
    result = await bash.run(f"{life.hold} (setsid sleep 60 &); echo done")
    (daemon,) = result.running
    assert daemon.command in ("setsid sleep 60", "sleep 60")
    end(*result.running)
    await life.wait_until_ended()


async def test_all_seventy_leftovers_are_named(bash: Bash) -> None:
    result = await bash.run("for i in {1..70}; do sleep 60 & echo $!; done")
    assert sorted(process.pid for process in result.running) == sorted(map(int, result.stdout.split()))
    assert result.notes[0].startswith("70 processes left running: ")
    end(*result.running)


async def test_leftover_subshell_is_not_named_by_nacres_own_shell_code(bash: Bash, life: Lifeline) -> None:
    result = await bash.run(f"{life.hold} (sleep 60; true) & echo done")
    names = [process.command for process in result.running]
    assert not [name for name in names if "BASH_EXECUTION_STRING" in name]
    end(*result.running)
    await life.wait_until_ended()


HOST = """
    import sys, nacre
    result = nacre.run_sync(sys.argv[1])
    print([process.pid for process in result.running], flush=True)
    {end}
"""

LEFTOVERS = {
    "sleeper": "sleep 60 &",
    "ignores-term": "(trap '' TERM; sleep 60; sleep 60) &",
    "flood-that-ignores-all-it-can": "(trap '' TERM PIPE; while :; do printf '%65536s' x; done 2>/dev/null) &",
    "session-of-its-own": "setsid sleep 60 &",
}


@pytest.mark.parametrize("leftover", LEFTOVERS.values(), ids=LEFTOVERS)
def test_leftovers_are_killed_when_their_host_exits(life: Lifeline, leftover: str) -> None:
    run_host(HOST.format(end=""), f"{life.hold} {leftover} echo done")
    life.wait_over()


@pytest.mark.parametrize("leftover", LEFTOVERS.values(), ids=LEFTOVERS)
def test_leftovers_are_killed_when_their_host_is_killed(life: Lifeline, leftover: str) -> None:
    with started_host(HOST.format(end="input()"), f"{life.hold} {leftover} echo done") as host:
        assert host.stdout is not None
        assert host.stdout.readline() != "[]\n"
        assert not life.over
        host.kill()
        host.wait()
        life.wait_over()


async def test_killing_leftovers_of_one_run_spares_those_of_another(
    bash: Bash, life: Lifeline, other_life: Lifeline
) -> None:
    kept = await bash.run(f"{other_life.hold} sleep 60 & echo kept")
    await bash.run(Request(f"{life.hold} sleep 60 & echo ended", leftovers="end"))
    assert (life.over, other_life.over) == (True, False)
    assert all(is_alive(process.pid) for process in kept.running)
    end(*kept.running)
    await other_life.wait_until_ended()


class TestWaiting:
    """`leftovers="wait"`: the shell waits for its jobs."""

    async def test_leftovers_option_wait_waits_for_a_job_and_keeps_its_output(self, bash: Bash, gate: Gate) -> None:
        job = f"({gate.wait}; sleep 0.05; echo bg)"
        result = await bash.run(Request(f"{job} & echo fg; echo >{quote(gate.path)}; (exit 3)", leftovers="wait"))
        assert (result.outcome, result.output) == (Exited(3), "fg\nbg\n")
        assert result.running == ()

    async def test_pipestatus_is_reported_when_leftovers_are_waited_for(self, bash: Bash) -> None:
        result = await bash.run(Request("(sleep 0.05; echo bg) & false | cat", leftovers="wait"))
        assert (result.outcome, result.output) == (Exited(0), "bg\n")
        assert [stage.status for stage in result.pipestatus] == [1, 0]

    async def test_timeout_bounds_the_wait_for_a_job(self, bash: Bash, life: Lifeline) -> None:
        command = f"{life.hold} sleep 600 & echo started"
        for limit in TIME_LIMITS_S:
            result = await bash.run(Request(command, leftovers="wait", timeout=limit))
            if result.stdout:
                break
        assert (result.outcome, result.output) == (TimedOut(limit), "started\n")
        await life.wait_until_ended()

    async def test_shell_function_named_wait_is_not_called(self, bash: Bash) -> None:
        result = await bash.run(Request("wait() { echo mine; }; sleep 0.01 &", leftovers="wait"))
        assert (result.outcome, result.output) == (Exited(0), "")

    async def test_session_waits_for_leftovers_and_keeps_its_state_changes(self, tmp_path: Path) -> None:
        session = nacre.Session(ctx=ToolContext(working_dir=tmp_path))
        result = await session.run(Request("(sleep 0.05; echo bg) & export A=b; cd /", leftovers="wait"))
        assert result.output == "bg\n"
        assert (session.cwd, session.env_changes["A"]) == ("/", "b")
