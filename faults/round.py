"""One round: a private directory, one fault, and the checks that must pass after any fault.

Next to that directory is one for temporary files, the TMPDIR of every process that is started in the round.

A fault that cannot be produced on this machine is skipped like a test (`pytest.skip`), with the reason.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from faults.count import COUNT, COUNTED, GRACE, HANG_TIMEOUT_S
from faults.descendants import become_subreaper, list_descendants, reap_orphans
from nacre import Bash, Limits, Request, ToolContext
from nacre.keeper.client.connection import keeper_connection
from nacre.profiles import DEFAULT
from nacre.result import Exited, Result
from nacre.tasks import Tasks
from tests.support.census import fds, is_alive, stray_processes
from tests.support.hosts import run_host
from tests.support.waiting import find_lasting, until

_EXIT_TIMEOUT_S = float(os.environ.get("NACRE_FAULTS_EXIT_TIMEOUT_S", "100"))
"""Time limit in seconds for everything to be gone after a round. Only leaks reach it; lower it where a leak is
known."""
_LEFTOVERS_TIMEOUT_S = 60.0
"""Time limit in seconds for leftovers to be gone after the end of a command, while its keeper lives."""
_EXTRA_COMMANDS, _MAX_EXTRA_DESCRIPTORS = 20, 8
"""Number of extra commands run by a keeper, and how many more descriptors it may have afterwards: another standby shell
is fine, a descriptor per command is not."""


class Wrong(Exception):
    """A promise was not kept: which, and how."""


def need(holds: bool, what: str) -> None:
    if not holds:
        raise Wrong(what)


@dataclass
class Round:
    """The tools of a fault."""

    random: random.Random
    place: Path
    bash: Bash = field(default_factory=lambda: Bash(replace(DEFAULT, grace=GRACE)))
    may_stay: tuple[str, ...] = ()
    """Name patterns of temporary files that may stay because no process is left to remove them."""

    @property
    def temporary(self) -> Path:
        """Directory for temporary files, empty at the end of a round. Not below `place`, which may be a command's
        workspace."""
        return self.place.parent / "temporary"

    @property
    def store(self) -> Path:
        return self.place.parent / "tasks"  # not below `place`: no command may write to a task directory

    @property
    def tasks(self) -> Tasks:
        return Tasks(self.store)

    @property
    def ctx(self) -> ToolContext:
        return ToolContext(output_dir=self.store, limits=Limits(tasks=1000))

    @property
    def keeper(self) -> int:
        """PID of this program's keeper."""
        return keeper_connection().pid

    def counting_command(self) -> str:
        """Return a command that counts, and records each printed number in the file read by `read_notes`."""
        note = shlex.quote(str(self.place / "noted"))
        return f"for i in $(seq 20); do echo $i; echo $i >> {note}; sleep 0.02; done"

    def read_notes(self) -> str:
        with suppress(FileNotFoundError):
            return (self.place / "noted").read_text()
        return ""

    async def sleep_randomly(self, max_s: float = 0.5) -> None:
        """Sleep for a random time of at most `max_s` seconds."""
        await asyncio.sleep(self.random.random() * max_s)

    async def wait_until_ready(self, program: subprocess.Popen[str]) -> None:
        """Wait until a random time after the program reports that it is ready; occasionally before it does."""
        assert program.stdout is not None
        if self.random.random() < 0.9:
            await asyncio.to_thread(program.stdout.readline)
        await self.sleep_randomly(0.7)

    async def program(self, text: str, *arguments: object, **options: Any) -> str:
        """Run a separate program, which must succeed, and return its output. Takes the options of `run_host`."""
        return await asyncio.to_thread(partial(run_host, text, *arguments, within=HANG_TIMEOUT_S, **options))

    async def start_task(self, command: str = COUNT) -> str:
        """Start a task and return its id."""
        result = await self.bash.run(Request(command, mode="background"), self.ctx)
        need(result.task is not None, f"no task: {result.summary}")
        assert result.task is not None
        return result.task.id

    def facts(self, task: str) -> dict[str, Any]:
        """Return the task's record of its processes."""
        facts: dict[str, Any] = json.loads((self.store / task / "process.json").read_text())
        return facts

    async def is_gone(self, ended: Result) -> None:
        """Check that leftovers, identified by the PIDs that they printed, are really dead, not only reported so."""
        need(not ended.running, f"said to be running: {ended.running}")
        pids = [int(word) for word in ended.stderr.split() if word.isdigit()]
        await until(lambda: not any(map(is_alive, pids)), f"the end of {pids}", within=_LEFTOVERS_TIMEOUT_S)

    async def has_counted(self, *tasks: str) -> None:
        """Check that these tasks have run to their end and lost no output."""
        waited = await self.tasks.wait(tasks, timeout=HANG_TIMEOUT_S)
        need(set(waited.met) == set(tasks), f"not ended: {set(tasks) - set(waited.met)}")
        for task in tasks:
            output = self.tasks.output(task)
            need(output.task.outcome == Exited(7), f"{task}: {output.task.summary}")
            need(output.text == COUNTED, f"{task} has lost something: {output.text!r}")


Fault: TypeAlias = Callable[[Round], Awaitable[None]]


async def play(fault: Fault, seed: int) -> str:
    """Play a round and return what was wrong; empty if nothing was.

    Bounded by `HANG_TIMEOUT_S` and `_EXIT_TIMEOUT_S`.
    """
    top = Path(tempfile.mkdtemp(prefix="nacre-faults-")).resolve()
    top.chmod(0o711)  # a fault may use another user
    place = top / "place"
    place.mkdir(0o700)
    try:
        round = Round(random.Random(seed), place)
        with become_subreaper(), _temporary_files_in(round.temporary):
            keeper_connection().shut_down()
            there, open_files = list_descendants().keys(), fds(os.getpid())
            try:
                async with asyncio.timeout(2 * HANG_TIMEOUT_S):
                    await fault(round)
                    await _afterwards(round)
            finally:
                left = await asyncio.to_thread(_leftover_processes, there)
        need(not left, f"left running: {left}")
        need(fds(os.getpid()) == open_files, f"{fds(os.getpid())} descriptors are open, of {open_files}")
        stays = [path.name for path in round.temporary.iterdir() if not any(map(path.match, round.may_stay))]
        need(not stays, f"temporary files stay: {stays}")
    except TimeoutError:
        return "it hung"
    except (Exception, pytest.fail.Exception) as error:
        return str(error) if isinstance(error, Wrong) else f"{type(error).__name__}: {error}"
    finally:
        shutil.rmtree(top, ignore_errors=True)
    return ""


@contextmanager
def _temporary_files_in(place: Path) -> Iterator[None]:
    """Set the directory for temporary files of this process and its children."""
    place.mkdir()
    place.chmod(0o1777)
    before, tempfile.tempdir = os.environ.get("TMPDIR"), None
    os.environ["TMPDIR"] = str(place)
    try:
        yield
    finally:
        tempfile.tempdir = None
        if before is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before


async def _afterwards(round: Round) -> None:
    """Check that the next command works, and that the reported states of tasks are true."""
    result = await round.bash.run("echo next")
    need(result.output == "next\n", f"the next command: {result.summary}, {result.output!r}")
    await _check_keeper_fds(round)
    for task in round.tasks.list() if round.store.is_dir() else ():
        need(not task.alive, f"{task.id} is still said to run")
        need(task.state != "broken", f"{task.id} is broken: {task.problem}")


async def _check_keeper_fds(round: Round) -> None:
    """Check that the keeper closes the descriptors of each command. Does nothing if they cannot be counted."""
    keeper, before = round.keeper, fds(round.keeper)
    for _ in range(_EXTRA_COMMANDS):
        await round.bash.run("true")
    if before is not None and keeper == round.keeper:
        limit = before + _MAX_EXTRA_DESCRIPTORS
        await until(
            lambda: (fds(keeper) or 0) <= limit, f"its keeper to have {limit} descriptors", within=_LEFTOVERS_TIMEOUT_S
        )


def _leftover_processes(there: Set[int]) -> dict[int, str]:
    """Return processes left by commands while their keeper lives, and any others once it has exited. They are killed,
    because they would disturb the next round."""
    left = find_lasting(stray_processes, within=_EXIT_TIMEOUT_S)
    keeper_connection().shut_down()
    left |= find_lasting(
        lambda: {pid: what for pid, what in list_descendants().items() if pid not in there}, within=_EXIT_TIMEOUT_S
    )
    for pid in left:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    reap_orphans()
    return left
