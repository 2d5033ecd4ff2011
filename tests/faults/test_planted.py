"""Planted defects in nacre, each of which the fault rounds must find: a harness that cannot fail proves nothing.

Most of nacre runs in other processes. So each defect is planted in a copy of the source, which those processes and the
program that plays the rounds load.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.hosts import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.linux]
WITHIN = 300.0
"""Timeout in seconds; a round that finds a live process waits for its end before it reports."""


class Change(NamedTuple):
    path: str
    before: str
    after: str


LADDER_WITHOUT_KILL = (
    Change("keeper/server/kill_ladder.py", "            self._kill_all(stopped)\n", ""),
    Change("keeper/server/kill_ladder.py", "            send_signal(-group, signal.SIGKILL)\n", "            pass\n"),
    Change(
        "keeper/server/kill_ladder.py",
        "            send_signal(pid, signal.SIGKILL)\n        return",
        "            pass\n        return",
    ),
)
LOST_LAST_BYTE = (
    Change(
        "keeper/protocol/task_log.py",
        "        pieces = [(0, self._head, 0)]\n",
        "        self._head -= 1\n        self.total_bytes -= 1\n        pieces = [(0, self._head, 0)]\n",
    ),
)
FORGOTTEN = (Change("keeper/client/run.py", "if loss.before_start and not stumbled and await", "if False and await"),)
RUN_AGAIN = (
    Change(
        "keeper/client/run.py",
        'return self._pid is not None or (self._request.plan.lifetime == "background" and self._own_keeper != 0)',
        'return self._request.plan.lifetime == "background" and self._own_keeper != 0',
    ),
)
ORPHANS_STAY = (Change("keeper/client/connection.py", "        kill_orphans(self.prefix, self.last_tag)\n", ""),)
LEAK_IN_THE_PROGRAM = (
    Change(
        "keeper/client/run.py",
        "            self._replies.close()\n            self._pipe_reader.close()\n",
        "            os.dup(0)\n            self._replies.close()\n            self._pipe_reader.close()\n",
    ),
)
LEAK_IN_THE_KEEPER = (
    Change(
        "keeper/server/run.py", "        close_all(self.pipes)\n", "        close_all(self.pipes)\n        os.dup(0)\n"
    ),
)
PRIVATE_DIRECTORY_STAYS = (
    Change(
        "keeper/server/server.py",
        "        for directory in self._directories:\n            remove_tree(directory)\n",
        "",
    ),
)
PRIVATE_DIRECTORY_OF_NONE_STAYS = (
    Change("keeper/client/connection.py", "                undo.callback(remove_empty, alone)", "                pass"),
)


def run_rounds(place: Path, changes: tuple[Change, ...], fault: str, seed: int = 0, rounds: int = 1) -> str:
    """Run the rounds on a source with these changes; they must fail. Return their output."""
    source = place / "src"
    shutil.copytree(ROOT / "src", source)
    for path, before, after in changes:
        file = source / "nacre" / path
        text = file.read_text()
        assert text.count(before) == 1, f"{path} has changed: {before!r}"
        file.write_text(text.replace(before, after))
    done = subprocess.run(
        [sys.executable, "-m", "faults", "--fault", fault, "--rounds", str(rounds), "--seed", str(seed)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(source), "NACRE_FAULTS_EXIT_TIMEOUT_S": "20"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WITHIN,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, ""), done
    return done.stdout


@pytest.mark.parametrize("fault", ["shell killed", "program stopped", "keeper or shell stopped"])
def test_fault_rounds_detect_a_kill_ladder_without_sigkill(tmp_path: Path, fault: str) -> None:
    assert run_rounds(tmp_path, LADDER_WITHOUT_KILL, fault)


@pytest.mark.parametrize("fault", ["keeper killed", "keeper or shell stopped"])
def test_fault_rounds_detect_a_task_log_without_its_last_byte(tmp_path: Path, fault: str) -> None:
    assert "has lost something" in run_rounds(tmp_path, LOST_LAST_BYTE, fault)


def test_fault_rounds_detect_a_command_lost_with_its_keeper(tmp_path: Path) -> None:
    assert "lost: nacre's keeper process was killed" in run_rounds(tmp_path, FORGOTTEN, "keeper killed, message unread")


@pytest.mark.parametrize("fault", ["keeper killed, many threads", "standby keeper killed"])
def test_fault_rounds_detect_a_command_that_runs_twice(tmp_path: Path, fault: str) -> None:
    assert "run more than once" in run_rounds(tmp_path, RUN_AGAIN, fault)


def test_fault_rounds_detect_orphans_of_a_dead_keeper_and_caller(tmp_path: Path) -> None:
    assert "left running" in run_rounds(tmp_path, ORPHANS_STAY, "keeper killed, callers gone", seed=4, rounds=2)


def test_fault_rounds_detect_an_fd_leak_in_the_host(tmp_path: Path) -> None:
    assert "descriptors are open" in run_rounds(tmp_path, LEAK_IN_THE_PROGRAM, "shell killed")


def test_fault_rounds_detect_an_fd_leak_in_the_keeper(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can read /proc of a keeper")
    assert "its keeper to have" in run_rounds(tmp_path, LEAK_IN_THE_KEEPER, "shell killed")


def test_fault_rounds_detect_a_private_directory_that_is_not_removed(tmp_path: Path) -> None:
    assert "temporary files stay" in run_rounds(tmp_path, PRIVATE_DIRECTORY_STAYS, "program killed", rounds=3)


def test_fault_rounds_detect_a_private_directory_of_a_run_that_never_started(tmp_path: Path) -> None:
    assert "temporary files stay" in run_rounds(
        tmp_path, PRIVATE_DIRECTORY_OF_NONE_STAYS, "descriptors run out", seed=2, rounds=3
    )
