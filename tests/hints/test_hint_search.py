"""The search for a hint: similar names, and bounds of time."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

from nacre.hints import Failure, hints_async
from nacre.hints.failure import distance, nearest
from tests.hints.failures import hints_after
from tests.support.waiting import HANG_TIMEOUT_S

pytestmark = [pytest.mark.req("T-10"), pytest.mark.linux]


def test_nearest_returns_the_most_similar_name() -> None:
    assert distance("kitten", "sitting", 5) == 3
    assert distance("ab", "ba", 2) == 1
    assert distance("a" * 50, "b" * 50, 2) == 3
    assert nearest("grpe", ["grep", "gripe", "group"]) == ["grep"]
    assert nearest("ls", ["lt", "ps", "ls"]) == []
    assert nearest("", ["a"]) == []


def test_hint_search_of_a_huge_directory_takes_bounded_cpu_time(project_dir: Path) -> None:
    for n in range(6000):
        (project_dir / "bin" / f"program-number-{n:05}").touch()
    start = time.process_time()
    hints_after(
        project_dir, "bash: porgram-number-99999: command not found\ncat: src/porgram: No such file or directory"
    )
    assert time.process_time() - start < 5  # CPU time: a bound that only a hang exceeds


async def test_hanging_hint_search_is_abandoned(project_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = threading.Event()

    def hang(*_: object) -> None:
        held.wait(HANG_TIMEOUT_S)

    monkeypatch.setattr("nacre.hints.providers", lambda: (hang,))
    monkeypatch.setattr("nacre.hints.TIMEOUT_S", 0.01)
    failure = Failure(command="", cwd=str(project_dir), text="gti: command not found")
    assert await asyncio.wait_for(hints_async(failure), HANG_TIMEOUT_S) == []
    held.set()


async def test_hint_search_is_awaited_while_it_uses_cpu_time(
    project_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*_: object) -> str:
        end = time.thread_time() + 0.5
        while time.thread_time() < end:
            pass
        return "found"

    monkeypatch.setattr("nacre.hints.providers", lambda: (work,))
    monkeypatch.setattr("nacre.hints.TIMEOUT_S", 0.1)
    monkeypatch.setattr("nacre.hints._BUSY_FACTOR", 1000)
    failure = Failure(command="", cwd=str(project_dir), text="gti: command not found")
    assert await asyncio.wait_for(hints_async(failure), HANG_TIMEOUT_S) == ["found"]
