"""One container: started, kept while any process holds it, then removed, however its holders end.

The container's first process reads from a FIFO that this process, and every task in the container, hold open. At EOF it
exits, and the engine removes the container. The engine's `run` is itself a task, in a separate store, so that it
outlives this process if a task in the container does.
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
from nacre.base.threads import run_in_thread
from nacre.engines.containers.options import EMPTY, ContainerSpec, run_options
from nacre.engines.guest.bash_programs import KILL, SUPERVISE
from nacre.engines.guest.probe import last_line_as_sentence, probe
from nacre.engines.guest.run_dir import make_pipe
from nacre.engines.guest.scripts import keepalive_script
from nacre.environment import host_environment
from nacre.errors import EngineUnavailable
from nacre.keeper.client.connection import TaskDirHandle
from nacre.keeper.client.events import ShellStarted, TaskRunning
from nacre.keeper.client.run import start
from nacre.keeper.protocol.task_dir import LOG, STATUS
from nacre.planning.plan import bash_path
from nacre.tasks.clean import auto_clean
from nacre.tasks.create import new_task_dir
from nacre.types import KIB, OutputLimits, Plan, Request, TaskPlan, Timing, ToolContext

_START_TIMEOUT_S = 120.0
"""Seconds for a container to start: its image may have to be unpacked first."""
_POLL_INTERVAL_S = 0.1
_held_pipes: set[int] = set()
"""Keepalive FIFOs that this process holds open."""


class Container:
    """One container, shared by the runs with the same spec."""

    def __init__(self, program: str, made: ContainerSpec) -> None:
        self.program = program
        self.spec = made
        self.name = f"nacre-{os.urandom(6).hex()}"
        self.run_dirs = ""
        """Parent of the run directories, mounted at `options.GUEST_DIR` in the container."""
        self.used = time.monotonic()
        self.running = 0
        """Number of commands of this process that run in it."""
        self.needs_check = False
        """Set after an error: query the engine before the next use."""
        self._folder = ""
        self._keepalive: int | None = None
        self._wanted = True
        """Whether more commands may come."""
        self._lock = threading.Lock()

    @property
    def keepalive(self) -> str:
        """Path of the FIFO that keeps the container alive while any process has it open."""
        return os.path.join(self._folder, "hold")  # not mounted into the container

    @property
    def remove(self) -> str:
        """Shell text that removes the container and kills everything in it."""
        return f"{shlex.quote(self.program)} rm -f {self.name}"

    @property
    def alive(self) -> bool:
        return self._wanted and not os.path.exists(os.path.join(self._folder, STATUS))

    async def is_running(self) -> bool:
        """Return whether the container runs. The engine is queried only after an error."""
        if self.alive and self.needs_check:
            running = [self.program, "exec", self.name, "bash", "-c", ":"]
            self.needs_check = await run_in_thread(probe, running) != ""
        return self.alive and not self.needs_check

    async def open(self) -> None:
        """Start the container and wait until it is up. EngineUnavailable: it does not start; the error says why."""
        store = os.path.join(state_directory(), "containers")
        plan = self._plan(store)
        with new_task_dir(plan, ToolContext(), "background") as folder:
            self._folder, self.run_dirs = folder.path, os.path.join(folder.path, "letters")
            self._prepare()
            run = [self.program, "run", *_without_proxies(self.program)]
            command = [*run, *run_options(self.spec, name=self.name, letters=self.run_dirs)]
            text = keepalive_script(command, remove=self.remove, letters=self.run_dirs)
            await self._start(replace(plan, text=text), folder)
        auto_clean(store)

    def _plan(self, store: str) -> Plan:
        return Plan(
            request=Request(f"{self.program} run {self.spec.image}"),
            text=b"",
            bash=bash_path(),
            cwd="/",
            env=_environment(),
            stdin=None,
            merge=True,
            timing=Timing(timeout=float("inf"), grace=2.0),
            lifetime="background",
            leftovers="end",
            output=OutputLimits(memory=KIB, spill=0, spill_dir=None, file_prefix="container"),
            task=TaskPlan(directory=store, log=64 * KIB),
            kill_script=self.remove.encode(),
        )

    def _prepare(self) -> None:
        for path in (self.run_dirs, os.path.join(self.run_dirs, EMPTY)):
            os.mkdir(path)
            os.chmod(path, 0o755)  # the container's user must read it; others cannot enter the parent
        os.mkfifo(self.keepalive, 0o600)
        make_pipe(os.path.join(self.run_dirs, "up"))
        for name, program in (("ward", SUPERVISE), ("reap", KILL)):
            with open(os.path.join(self.run_dirs, name), "x", encoding="ascii") as file:
                file.write(program)
        self._keepalive = os.open(self.keepalive, os.O_RDWR | os.O_CLOEXEC)
        _held_pipes.add(self._keepalive)

    async def _start(self, plan: Plan, folder: TaskDirHandle) -> None:
        up = os.open(os.path.join(self.run_dirs, "up"), os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        stdin = os.open(self.keepalive, os.O_RDONLY | os.O_CLOEXEC)
        try:
            run = await start(plan, None, folder._replace(stdin=stdin))
            try:
                while isinstance(happening := await run.next(), ShellStarted):
                    continue
                if isinstance(happening, TaskRunning):
                    run.detach()
                    await self._wait_until_up(up)
            finally:
                run.close()
            if not self.alive:
                raise await run_in_thread(self._complaint)
        except BaseException:
            self.close()
            raise
        finally:
            os.close(stdin)
            os.close(up)

    async def _wait_until_up(self, pipe: int) -> None:
        loop = asyncio.get_running_loop()
        is_up = asyncio.Event()
        loop.add_reader(pipe, is_up.set)
        try:
            until = loop.time() + _START_TIMEOUT_S
            while self.alive and not is_up.is_set() and loop.time() < until:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(is_up.wait(), _POLL_INTERVAL_S)
            if self.alive and not is_up.is_set():
                self.close()
        finally:
            loop.remove_reader(pipe)

    def _complaint(self) -> EngineUnavailable:
        """Return an error that says why the container did not start. Blocks."""
        program, image = self.program, self.spec.image
        words = probe([program, "version"])
        if words is None:
            return EngineUnavailable(f"{program} was not found.", f"Install {program}, or use another engine.")
        if words:
            return EngineUnavailable(f"{program} does not work here: {words}", f"See `{program} version`.")
        if probe([program, "image", "inspect", image]):
            return EngineUnavailable(
                f"{program} has no local image {image!r}.", f"Pull it first: {program} pull {image}"
            )
        said = last_line_as_sentence(self._stderr_tail())
        return EngineUnavailable(f"{program} could not start a container from {image!r}: {said}", _remedy(said))

    def _stderr_tail(self) -> str:
        with contextlib.suppress(OSError), open(os.path.join(self._folder, LOG), "rb") as log:
            lines = [line for line in log.read(64 * KIB).decode("utf-8", "replace").splitlines() if line.strip()]
            errors = [line for line in lines if "rror" in line]
            return (errors or lines or ["no error message."])[-1]
        return "no error message."

    def acquire(self) -> bool:
        """Count a command of this process that is about to run in it. False: the container is being closed."""
        with self._lock:
            if self._wanted:
                self.running += 1
            return self._wanted

    def release(self) -> None:
        """Count a command as ended."""
        with self._lock:
            self.running -= 1
            self.used = time.monotonic()
            self._release()

    def close(self) -> None:
        """Accept no more commands. The container exits when nothing runs in it any more."""
        with self._lock:
            self._wanted = False
            self._release()

    def _release(self) -> None:
        if not self._wanted and not self.running and self._keepalive is not None:
            _held_pipes.discard(self._keepalive)
            os.close(self._keepalive)
            self._keepalive = None


def _environment() -> dict[str, str]:
    """Return the engine's environment without proxy variables: podman would pass them, with their passwords, to the
    container."""
    return {name: value for name, value in host_environment().items() if not name.lower().endswith("_proxy")}


def _without_proxies(program: str) -> list[str]:
    """Return the option that also keeps out the proxies of the service that podman may use. docker has no such option,
    and passes on no proxies from its environment."""
    return ["--http-proxy=false"] if os.path.basename(program).startswith("podman") else []


def _remedy(said: str) -> str:
    if re.search(r"\bbash\b.*not found", said):
        return "The image has no bash; use one that has."
    if "file locks" in said:
        return "Leave out --ulimit locks=…: nacre marks the processes of each run by that limit."
    if "rlimit" in said:
        return (
            "It may not set the configured limits. Set lower ones in containers.conf: "
            "default_ulimits = [\"nofile=1024:1024\"]; or with Containers(options=('--ulimit', 'nofile=1024:1024'))."
        )
    return ""


def _after_fork() -> None:
    """Close the parent's FIFOs in a forked child."""
    for fd in _held_pipes:
        os.close(fd)
    _held_pipes.clear()


os.register_at_fork(after_in_child=_after_fork)
