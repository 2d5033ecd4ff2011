"""Leftovers: a process counts as one if it does not exit soon after its shell; on a busy machine, later."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

from nacre.keeper.protocol.channel import Channel
from nacre.keeper.protocol.messages import StartMessage
from nacre.keeper.protocol.procfs import ProcessInfo
from nacre.keeper.server import run as runs
from nacre.keeper.server.run import Run
from nacre.keeper.spawn.shell import Shell

pytestmark = pytest.mark.linux

RECHECKS = 6
"""Polls of an idle process before it counts as left over."""


@pytest.fixture
def run() -> Iterator[Run]:
    """Yield a run whose shell is this process, which stays alive."""
    start = StartMessage(
        tag=1, timeout=60, grace=1, merge=True, keep_leftovers=True, standby_ok=False,
        has_stdin=False, has_state=False,
        bash=b"/bin/bash", cwd=b"/", text=b"", env=b"",
    )  # fmt: skip
    out, end = os.pipe()
    control, theirs = Channel.pair()
    with theirs:
        yield Run(start, Shell(os.getpid(), (0, 0), out, None, -1, b""), control)
    control.close()
    os.close(out)
    os.close(end)


@pytest.fixture
def idle() -> Iterator[int]:
    """Yield the PID of a process that uses no CPU time."""
    with subprocess.Popen(["sleep", "300"]) as process:
        yield process.pid
        process.kill()


def process_info(pid: int, state: str) -> dict[int, ProcessInfo]:
    return {pid: ProcessInfo(pid, 1, pid, pid, state, "tee")}


def count_polls(run: Run, *states: dict[int, ProcessInfo]) -> int:
    """Return how often the run polls these processes again."""
    count = 0
    for members in states:
        if not run.should_recheck(members):
            break
        count += 1
    return count


def test_sleeping_process_is_a_leftover_after_a_few_polls(run: Run, idle: int) -> None:
    assert count_polls(run, *[process_info(idle, "S")] * 100) == RECHECKS


def test_process_waiting_for_a_cpu_is_polled_until_it_no_longer_waits(run: Run, idle: int) -> None:
    assert count_polls(run, *[process_info(idle, "R")] * 100, *[process_info(idle, "S")] * 100) == 100 + RECHECKS


def test_busy_process_is_a_leftover_after_a_few_polls(run: Run, idle: int) -> None:
    run.ticks_seen[idle] = -1000  # as if it had had CPU time since the first poll
    assert count_polls(run, *[process_info(idle, "R")] * 100) == RECHECKS


def test_process_that_gets_no_cpu_for_long_is_a_leftover_anyway(run: Run, idle: int) -> None:
    run.shell_exited_at -= 10
    assert count_polls(run, *[process_info(idle, "R")] * 100) == RECHECKS


def test_run_that_keeps_spawning_processes_is_not_polled_for_long(run: Run) -> None:
    grown = [process_info(2**22 + number, "R") for number in range(100)]
    assert count_polls(run, *grown) == runs._GROWING_ABOVE_PROCESSES + 1 + RECHECKS
