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

from nacre.keeper.server import supervisor as caring
from nacre.keeper.server.supervisor import Supervisor

pytestmark = [pytest.mark.req("P-008"), pytest.mark.linux]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


@pytest.fixture
def care(monkeypatch: pytest.MonkeyPatch) -> Supervisor:
    care = Supervisor()
    monkeypatch.setattr(care, "finish", lambda run: setattr(run, "finished", True))
    return care


def ended_run(care: Supervisor, folder: int) -> Any:
    run = SimpleNamespace(
        tag=5, over_at=None, notes=[], record=SimpleNamespace(task_dir=folder, protection=b"digest"), finished=False
    )
    care.runs[5] = run  # type: ignore[assignment]
    return run


def test_restorer_that_hangs_is_killed_and_noted(
    care: Supervisor, folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caring, "RESTORE_MAX_S", 0.01)
    run = ended_run(care, folder)
    with subprocess.Popen(["sleep", "300"]) as hangs:
        monkeypatch.setattr(caring, "spawn_restorer", lambda *_: hangs.pid)
        assert care.restores(run)
        while not run.finished:
            care.loop.run_once(None)
        assert hangs.wait() == -signal.SIGKILL
    assert len(run.notes) == 1
    assert "took more than" in run.notes[0]
    assert not care.restores(run), "the restorer is still running, so the task's end is not recorded"
    assert not care.adopt_one(hangs.pid), "the restorer was adopted by a run"


def test_restorer_that_cannot_be_started_is_noted(
    care: Supervisor, folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise OSError(11, "no process left")

    monkeypatch.setattr(caring, "spawn_restorer", fail)
    run = ended_run(care, folder)
    assert not care.restores(run)
    assert "no process left" in run.notes[0]


def test_no_restorer_is_started_without_protected_paths(
    care: Supervisor, folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    monkeypatch.setattr(caring, "spawn_restorer", lambda *given: started.append(given))
    run = ended_run(care, folder)
    run.record.protection = b""
    assert not care.restores(run)
    assert (started, run.notes) == ([], [])
