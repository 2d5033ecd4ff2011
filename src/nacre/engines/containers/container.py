"""One container: started, kept as long as somebody holds it, gone after that, however its holders end.

Its first process reads from a pipe that this process, and every task that runs in it, hold open; at the end of that
pipe it exits, and the engine removes it. The engine's `run` is itself a task, in a store of its own, so that it
outlives this process where a task does.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import threading
import time

from nacre.base.frozen import replace
from nacre.base.system import state_directory
from nacre.base.threads import beside
from nacre.engines.containers.options import EMPTY, Made, flags
from nacre.engines.guest.bash_programs import REAP, WARD
from nacre.engines.guest.probe import said_by, sentence
from nacre.engines.guest.run_dir import make_pipe
from nacre.engines.guest.scripts import holder
from nacre.environment import host_environment
from nacre.errors import EngineUnavailable
from nacre.keeper.client.connection import Folder
from nacre.keeper.client.events import Began, Going
from nacre.keeper.client.run import start
from nacre.keeper.protocol.task_dir import LOG, STATUS
from nacre.planning.plan import bash_path
from nacre.tasks.clean import tidy
from nacre.tasks.create import new_folder
from nacre.types import KIB, Plan, Request, ToolContext

_PATIENCE = 120.0
"""Seconds for a container to come up: its image may have to be unpacked first."""
_LOOK = 0.1
_held: set[int] = set()
"""The pipes that keep containers, as far as this process has them open."""


class Container:
    def __init__(self, program: str, made: Made) -> None:
        self.program = program
        self.made = made
        self.name = f"nacre-{os.urandom(6).hex()}"
        self.letters = ""
        """The folder that it sees as `flags.LETTERS`."""
        self.used = time.monotonic()
        self.running = 0
        """Commands of this process that are in it."""
        self.doubted = False
        """Something has gone wrong with it."""
        self._folder = ""
        self._hold: int | None = None
        self._wanted = True
        """More commands may come."""
        self._lock = threading.Lock()

    @property
    def hold(self) -> str:
        """The pipe that keeps it, for whoever is to keep it, too."""
        return os.path.join(self._folder, "hold")  # out of reach of what runs in it

    @property
    def remove(self) -> str:
        """Shell text: ends it, with all that runs in it."""
        return f"{shlex.quote(self.program)} rm -f {self.name}"

    @property
    def alive(self) -> bool:
        return self._wanted and not os.path.exists(os.path.join(self._folder, STATUS))

    async def is_well(self) -> bool:
        """The engine is asked only when there is doubt."""
        if self.alive and self.doubted:
            running = [self.program, "exec", self.name, "bash", "-c", ":"]
            self.doubted = await beside(said_by, running) != ""
        return self.alive and not self.doubted

    async def open(self) -> None:
        """EngineUnavailable: it does not come up, and why."""
        store = os.path.join(state_directory(), "containers")
        plan = self._plan(store)
        with new_folder(Request(f"{self.program} run {self.made.image}"), ToolContext(), plan, "background") as folder:
            self._folder, self.letters = folder.path, os.path.join(folder.path, "letters")
            self._prepare()
            run = [self.program, "run", *_without_proxies(self.program)]
            command = [*run, *flags(self.made, name=self.name, letters=self.letters)]
            text = holder(command, remove=self.remove, letters=self.letters)
            await self._start(replace(plan, text=text), folder)
        tidy(store)

    def _plan(self, store: str) -> Plan:
        return Plan(
            text=b"",
            bash=bash_path(),
            cwd="/",
            env=_environment(),
            stdin=None,
            merge=True,
            timeout=float("inf"),
            grace=2.0,
            leftovers="end",
            output=KIB,
            spill=0,
            spill_dir=None,
            spill_name="container",
            task_dir=store,
            apart=True,
            background=True,
            ender=self.remove.encode(),
            log=64 * KIB,
        )

    def _prepare(self) -> None:
        for path in (self.letters, os.path.join(self.letters, EMPTY)):
            os.mkdir(path)
            os.chmod(path, 0o755)  # whoever it runs as has to read here; nobody else gets past the folder above
        os.mkfifo(self.hold, 0o600)
        make_pipe(os.path.join(self.letters, "up"))
        for name, program in (("ward", WARD), ("reap", REAP)):
            with open(os.path.join(self.letters, name), "x", encoding="ascii") as file:
                file.write(program)
        self._hold = os.open(self.hold, os.O_RDWR | os.O_CLOEXEC)
        _held.add(self._hold)

    async def _start(self, plan: Plan, folder: Folder) -> None:
        up = os.open(os.path.join(self.letters, "up"), os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        stdin = os.open(self.hold, os.O_RDONLY | os.O_CLOEXEC)
        try:
            run = await start(plan, None, folder._replace(stdin=stdin))
            try:
                while isinstance(happening := await run.next(), Began):
                    continue
                if isinstance(happening, Going):
                    run.let_go()
                    await self._come_up(up)
            finally:
                run.close()
            if not self.alive:
                raise await beside(self._complaint)
        except BaseException:
            self.close()
            raise
        finally:
            os.close(stdin)
            os.close(up)

    async def _come_up(self, pipe: int) -> None:
        loop = asyncio.get_running_loop()
        is_up = asyncio.Event()
        loop.add_reader(pipe, is_up.set)
        try:
            until = loop.time() + _PATIENCE
            while self.alive and not is_up.is_set() and loop.time() < until:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(is_up.wait(), _LOOK)
            if self.alive and not is_up.is_set():
                self.close()
        finally:
            loop.remove_reader(pipe)

    def _complaint(self) -> EngineUnavailable:
        """Why it did not come up. Blocking."""
        program, image = self.program, self.made.image
        words = said_by([program, "version"])
        if words is None:
            return EngineUnavailable(f"There is no {program} here.", f"Install {program}, or use another engine.")
        if words:
            return EngineUnavailable(f"{program} does not work here: {words}", f"See `{program} version`.")
        if said_by([program, "image", "inspect", image]):
            return EngineUnavailable(f"{program} has no image {image!r} here.", f"Get it first: {program} pull {image}")
        said = sentence(self._last_words())
        return EngineUnavailable(f"{program} could not start a container from {image!r}: {said}", _remedy(said))

    def _last_words(self) -> str:
        with contextlib.suppress(OSError), open(os.path.join(self._folder, LOG), "rb") as log:
            lines = [line for line in log.read(64 * KIB).decode("utf-8", "replace").splitlines() if line.strip()]
            errors = [line for line in lines if "rror" in line]
            return (errors or lines or ["it said nothing."])[-1]
        return "it said nothing."

    def enter(self) -> bool:
        """A command of this process is about to run in it. False: it is being let go of."""
        with self._lock:
            if self._wanted:
                self.running += 1
            return self._wanted

    def leave(self) -> None:
        """That has ended."""
        with self._lock:
            self.running -= 1
            self.used = time.monotonic()
            self._let_go()

    def close(self) -> None:
        """Nobody else needs it. It goes when nothing runs in it any more."""
        with self._lock:
            self._wanted = False
            self._let_go()

    def _let_go(self) -> None:
        if not self._wanted and not self.running and self._hold is not None:
            _held.discard(self._hold)
            os.close(self._hold)
            self._hold = None


def _environment() -> dict[str, str]:
    """For the engine: without the proxies that podman would put into the container, with their passwords."""
    return {name: value for name, value in host_environment().items() if not name.lower().endswith("_proxy")}


def _without_proxies(program: str) -> list[str]:
    """Nor those of the service that podman may ask; docker has no such option, and takes none from its surroundings."""
    return ["--http-proxy=false"] if os.path.basename(program).startswith("podman") else []


def _remedy(said: str) -> str:
    if re.search(r"\bbash\b.*not found", said):
        return "The image has no bash; use one that has."
    if "file locks" in said:
        return "Leave out --ulimit locks=…: what belongs to which run is known by that limit."
    if "rlimit" in said:
        return (
            "It may not set the limits that it is told to set. Let it set lower ones: in containers.conf, "
            "default_ulimits = [\"nofile=1024:1024\"]; or by Containers(options=('--ulimit', 'nofile=1024:1024'))."
        )
    return ""


def _after_fork() -> None:
    """What the parent holds is none of the child's."""
    for fd in _held:
        os.close(fd)
    _held.clear()


os.register_at_fork(after_in_child=_after_fork)
