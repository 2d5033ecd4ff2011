"""Leftovers: a process counts as one if it does not exit soon after its shell; on a busy machine, later."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator

import pytest

from nacre.keeper.protocol.procfs import ProcessInfo
from nacre.keeper.server import process_set
from nacre.keeper.server.process_set import ProcessSet

pytestmark = pytest.mark.linux

RECHECKS = 6
"""Polls of an idle process before it counts as left over."""


@pytest.fixture
def processes() -> ProcessSet:
    """Return the processes of a run whose shell has just been reaped."""
    processes = ProcessSet(os.getpid(), 1, [], lambda: False)
    processes.shell_exited_at = time.monotonic()
    return processes


@pytest.fixture
def idle() -> Iterator[int]:
    """Yield the PID of a process that uses no CPU time."""
    with subprocess.Popen(["sleep", "300"]) as process:
        yield process.pid
        process.kill()


def process_info(pid: int, state: str) -> dict[int, ProcessInfo]:
    return {pid: ProcessInfo(pid, 1, pid, pid, state, "tee")}


def looks(processes: ProcessSet, *states: dict[int, ProcessInfo]) -> int:
    """Return how often the set polls these processes again."""
    count = 0
    for members in states:
        if not processes.should_recheck(members):
            break
        count += 1
    return count


def test_sleeping_process_is_a_leftover_after_a_few_polls(processes: ProcessSet, idle: int) -> None:
    assert looks(processes, *[process_info(idle, "S")] * 100) == RECHECKS


def test_process_waiting_for_a_cpu_is_polled_until_it_no_longer_waits(processes: ProcessSet, idle: int) -> None:
    assert looks(processes, *[process_info(idle, "R")] * 100, *[process_info(idle, "S")] * 100) == 100 + RECHECKS


def test_busy_process_is_a_leftover_after_a_few_polls(processes: ProcessSet, idle: int) -> None:
    processes._ticks_seen[idle] = -1000  # as if it had had CPU time since the first poll
    assert looks(processes, *[process_info(idle, "R")] * 100) == RECHECKS


def test_process_that_gets_no_cpu_for_long_is_a_leftover_anyway(processes: ProcessSet, idle: int) -> None:
    processes.shell_exited_at = time.monotonic() - 10
    assert looks(processes, *[process_info(idle, "R")] * 100) == RECHECKS


def test_run_that_keeps_spawning_processes_is_not_polled_for_long(processes: ProcessSet) -> None:
    grown = [process_info(2**22 + number, "R") for number in range(100)]
    assert looks(processes, *grown) == process_set._GROWING_ABOVE_PROCESSES + 1 + RECHECKS
