"""Timeouts: the output so far is kept, and no process of the command is alive afterwards."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from nacre import Bash, Profile, Request, Result
from nacre.execution.outcome import _seconds
from nacre.result import Exited, TimedOut
from tests.support.commands import STUBBORN
from tests.support.lifeline import Gate, Lifeline
from tests.support.said import captured_text
from tests.support.unchecked import UNCHECKED
from tests.support.waiting import HANG_TIMEOUT_S, TIME_LIMITS_S, until


@pytest.mark.req("P-002", "M-11")
async def test_timed_out_command_keeps_its_output_and_leaves_nothing_alive(bash: Bash, life: Lifeline) -> None:
    command = f"{life.hold} echo partial; {STUBBORN}"
    for limit in TIME_LIMITS_S:
        result = await asyncio.wait_for(bash.run(Request(command, timeout=limit)), limit + HANG_TIMEOUT_S)
        if result.stdout:
            break
    assert result == Result(
        command=command,
        cwd=os.getcwd(),
        outcome=TimedOut(limit),
        out=captured_text("partial\n"),
        both=captured_text("partial\n"),
        duration=result.duration,
        pid=result.pid,
        notes=result.notes,
    )
    assert life.over


async def test_twenty_timed_out_commands_at_once_leave_nothing_alive(bash: Bash, life: Lifeline) -> None:
    for limit in TIME_LIMITS_S:
        before = life.holders
        request = Request(f"{life.hold} echo partial; {STUBBORN}", timeout=limit)
        results = await asyncio.wait_for(
            asyncio.gather(*(bash.run(request) for _ in range(20))), limit + HANG_TIMEOUT_S
        )
        if all(result.stdout for result in results):
            break
    assert [(result.outcome, result.output, result.running) for result in results] == [
        (TimedOut(limit), "partial\n", ())
    ] * 20
    assert (life.holders - before, life.over) == (20, True)


@pytest.mark.linux  # without rlimits the environment has the only tag, and `env -i` sheds it
async def test_timeout_kills_a_daemon_without_environment_only_of_its_own_run(
    bash: Bash, life: Lifeline, other_life: Lifeline, gate: Gate
) -> None:
    daemon = "(env -i setsid -f sleep 999 </dev/null >/dev/null 2>&1)"
    other = asyncio.create_task(bash.run(f"{other_life.hold} {daemon}; {gate.wait}"))
    await other_life.wait_until_held()
    for limit in TIME_LIMITS_S:
        result = await bash.run(Request(f"{life.hold} {daemon}; echo started; sleep 999", timeout=limit))
        if result.stdout:
            break
    assert (result.outcome, life.over, other_life.over) == (TimedOut(limit), True, False)
    gate.open()
    kept = await other
    (process,) = kept.running
    assert (kept.outcome, process.command, other_life.over) == (Exited(0), "sleep 999", False)
    os.kill(process.pid, signal.SIGKILL)
    await other_life.wait_until_ended()


@pytest.mark.req("P-002")
async def test_timed_out_command_can_clean_up_in_its_trap(bash: Bash, tmp_path: Path) -> None:
    command = "trap 'echo cleaned > f; echo bye; exit 3' TERM; echo ready; sleep 999"
    for limit in TIME_LIMITS_S:
        result = await bash.run(Request(command, timeout=limit, cwd=tmp_path))
        if result.stdout:
            break
    assert (result.outcome, result.stdout) == (TimedOut(limit), "ready\nbye\n")
    assert (tmp_path / "f").read_text() == "cleaned\n"


async def test_timeout_kills_a_stopped_process(bash: Bash, life: Lifeline) -> None:
    for limit in TIME_LIMITS_S:
        result = await bash.run(Request(f"{life.hold} kill -STOP $$", timeout=limit))
        if life.holders:
            break
    assert (result.outcome, life.over) == (TimedOut(limit), True)


async def test_timeout_kills_a_command_that_keeps_forking(life: Lifeline) -> None:
    forker = "trap '' TERM; f() { sleep 0.02; (f &) ; }; f & f & f & wait; sleep 60"
    for limit in TIME_LIMITS_S:
        result = await UNCHECKED.run(Request(f"{life.hold} {forker}", timeout=limit))
        if life.holders:
            break
    assert (result.outcome, result.running, life.over) == (TimedOut(limit), (), True)


async def test_a_leftover_outlives_the_timeout_of_the_run_that_left_it(bash: Bash, life: Lifeline, gate: Gate) -> None:
    for limit in TIME_LIMITS_S:
        result = await bash.run(Request(f"{life.hold} ({gate.wait}) & echo done", timeout=limit))
        if result.outcome == Exited(0):
            break
    later = await bash.run(Request("sleep 999", timeout=limit + 0.2))
    assert (result.outcome, later.outcome, life.over) == (Exited(0), TimedOut(limit + 0.2), False)
    gate.open()
    await life.wait_until_ended()


async def test_idle_timed_out_command_gets_a_note_about_waiting_for_input(bash: Bash) -> None:
    for limit in TIME_LIMITS_S:
        result = await bash.run(Request("cat | sleep 999", timeout=limit))
        if result.notes:
            break
    (note,) = result.notes
    assert re.sub(r"for \S+ s", "for N s", note) == (
        "No output for N s and all processes were sleeping; it may have been waiting for input "
        "(stdin is empty: pass answers by flags or `stdin`)."
    )


def test_seconds_of_silence_are_rounded_for_display() -> None:
    assert [_seconds(silence) for silence in (0.51, 0.998, 1.0, 1.4, 28.3)] == ["0.5", "1", "1", "1", "28"]


async def test_busy_timed_out_command_gets_no_note_about_waiting(bash: Bash) -> None:
    for limit in TIME_LIMITS_S:
        result = await bash.run(Request("while :; do :; done", timeout=limit))
        if not result.notes:
            break
    assert (result.outcome, result.notes) == (TimedOut(limit), ())


@pytest.mark.linux  # elsewhere no process is stopped before it is looked at
async def test_process_storm_at_its_timeout_gets_no_note_about_waiting(bash: Bash, tmp_path: Path) -> None:
    """So many are stopped before their states are read, and a stopped process is not one that waits for input."""
    storm = "for ((n = 0; n < 250; n++)); do sleep 999 & done; : >ready; while :; do :; done"
    for limit in TIME_LIMITS_S:
        result = await bash.run(Request(storm, timeout=limit, cwd=tmp_path))
        if (tmp_path / "ready").exists():
            break
    assert (result.outcome, result.notes) == (TimedOut(limit), ())


@pytest.mark.req("P-002", "M-03")
@pytest.mark.parametrize(("mode", "after"), [("default", 0.25), ("slow", 0.5)])
async def test_request_mode_selects_the_profile_timeout(mode: str, after: float) -> None:
    bash = Bash(Profile(name="short", timeout=0.25, slow_timeout=0.5))
    result = await bash.run(Request("sleep 999", mode=mode))  # type: ignore[arg-type]
    assert result.outcome == TimedOut(after)


@pytest.mark.req("M-01", "M-03")
async def test_timeout_over_the_maximum_is_lowered_with_a_note() -> None:
    bash = Bash(Profile(name="short", max_timeout=0.5))
    result = await bash.run(Request("sleep 999", timeout=30))
    assert result.outcome == TimedOut(0.5)
    assert result.notes[0] == "The timeout of 30 s is over the limit and was lowered to 0.5 s."


async def test_keeper_suspended_between_sigterm_and_sigkill_leaves_nothing_alive(
    life: Lifeline, tmp_path: Path
) -> None:
    """As when the machine sleeps: the times for SIGKILL and for giving up have both passed when the keeper runs."""
    bash = Bash(Profile(name="hasty", grace=0.2))
    keeper = int((await bash.run("echo $PPID")).stdout)
    command = (
        f"{life.hold} (trap '' TERM; sleep 999; sleep 999) & trap 'echo >asked' TERM; while :; do sleep 0.01; done"
    )
    for limit in TIME_LIMITS_S:
        run = asyncio.create_task(bash.run(Request(command, timeout=limit, cwd=tmp_path)))
        await until(lambda: run.done() or (tmp_path / "asked").exists(), "TERM")  # noqa: B023
        if (tmp_path / "asked").exists():
            break
    os.kill(keeper, signal.SIGSTOP)
    subprocess.run(["sleep", "2"], check=True)
    os.kill(keeper, signal.SIGCONT)
    result = await run
    assert (result.outcome, result.running, life.over) == (TimedOut(limit), (), True)
