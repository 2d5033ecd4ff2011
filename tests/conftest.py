"""Fixtures for all tests, and a check after each test that it left no process running."""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from nacre import Bash
from tests.support.census import MARK, strays
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import find_lasting

signal.signal(
    signal.SIGINT, signal.default_int_handler
)  # ignored in background jobs of scripts; child processes inherit that
signal.signal(signal.SIGQUIT, signal.SIG_DFL)  # likewise
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored under nohup
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # nacre starts a thousand times: reuse its bytecode
os.environ[MARK] = secrets.token_hex(4)
_state = tempfile.mkdtemp(prefix="nacre-test-state-")  # keep the tasks of tests out of the user's state directory
os.environ["XDG_STATE_HOME"] = _state
os.environ["XDG_CONFIG_HOME"] = _state  # ignore the user's own configuration
atexit.register(shutil.rmtree, _state, ignore_errors=True)

settings.register_profile("nacre", deadline=None)  # the duration of an example depends on the machine
settings.load_profile("nacre")

PORTABLE = bool(os.environ.get("NACRE_PORTABLE"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if PORTABLE:
        skip = pytest.mark.skip(reason="needs what NACRE_PORTABLE switches off: subreaper, /proc, tags by rlimit")
        for item in items:
            if "linux" in item.keywords:
                item.add_marker(skip)


@pytest.fixture(autouse=True)
def _nothing_left_running() -> Iterator[None]:
    yield
    left = find_lasting(strays)
    for pid in left:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)  # else every later test would fail, too
    assert left == {}


@pytest.fixture
def bash() -> Bash:
    return Bash()


@pytest.fixture
def fifo_directory(tmp_path: Path) -> Path:
    """Return the directory of lifelines and gates, which the commands under test must be able to open."""
    return tmp_path


@pytest.fixture
def life(fifo_directory: Path) -> Iterator[Lifeline]:
    line = Lifeline(fifo_directory / "life")
    yield line
    line.close()


@pytest.fixture
def other_life(fifo_directory: Path) -> Iterator[Lifeline]:
    line = Lifeline(fifo_directory / "other-life")
    yield line
    line.close()


@pytest.fixture
def gate(fifo_directory: Path) -> Iterator[Gate]:
    gate = Gate(fifo_directory / "gate")
    yield gate
    gate.close()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a directory by its real path that has a file next to it."""
    made = tmp_path.resolve() / "place"
    made.mkdir()
    (made.parent / "outside").write_text("precious")
    return made
