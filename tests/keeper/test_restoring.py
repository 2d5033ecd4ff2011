"""A comparison of protected paths that hangs does not keep a task from ending."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nacre.keeper.server.children import ChildTable
from nacre.keeper.server.event_loop import EventLoop
from nacre.keeper.server.run import RunningTask
from nacre.keeper.server.task import restoring
from nacre.keeper.server.task.restoring import PathRestorer

pytestmark = [pytest.mark.req("P-008"), pytest.mark.linux]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


class Keeper:
    """The parts of a keeper that a restorer needs, with one task that has just ended."""

    def __init__(self, folder: int) -> None:
        record: Any = SimpleNamespace(task_dir=folder, protection=b"digest")
        self.task = RunningTask(record)
        self.run: Any = SimpleNamespace(tag=5)
        self.finished: list[object] = []
        self.loop = EventLoop({5})
        self.children = ChildTable({})
        self.restorer = PathRestorer(self.loop, self.children, self.finished.append)

    def restore(self) -> bool:
        return self.restorer.restore(self.run, self.task)


@pytest.fixture
def keeper(folder: int) -> Keeper:
    return Keeper(folder)


def test_restorer_that_hangs_is_killed_and_noted(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restoring, "RESTORE_MAX_S", 0.01)
    with subprocess.Popen(["sleep", "300"]) as hangs:
        monkeypatch.setattr(restoring, "spawn_restorer", lambda *_: hangs.pid)
        assert keeper.restore()
        while not keeper.finished:
            keeper.loop.run_once(None)
        assert hangs.wait() == -signal.SIGKILL
    assert keeper.finished == [keeper.run]
    assert len(keeper.task.notes) == 1
    assert "took more than" in keeper.task.notes[0]
    assert not keeper.restore(), "its end can be written down"
    assert hangs.pid in keeper.children.helpers, "it belongs to no run"


def test_restorer_that_cannot_be_started_is_noted(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(11, "no process left")

    monkeypatch.setattr(restoring, "spawn_restorer", fail)
    assert not keeper.restore()
    assert "no process left" in keeper.task.notes[0]


def test_no_restorer_is_started_without_protected_paths(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    monkeypatch.setattr(restoring, "spawn_restorer", lambda *given: started.append(given))
    keeper.task.record.protection = b""
    assert not keeper.restore()
    assert (started, keeper.task.notes) == ([], [])
