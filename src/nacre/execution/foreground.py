"""Follow a foreground run until it ends or becomes a task, and make its leftovers a task.

The modules that create tasks are loaded by the first run that needs them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections import deque

from nacre.base.lazy_regex import lazy_regex
from nacre.capture import Collector
from nacre.errors import InvalidRequest
from nacre.keeper.client.events import Adopted, AdoptionFailed, Promoted, RunEvent, RunStopped, TaskRunning
from nacre.keeper.client.handle import RemoteRun, RunHandle
from nacre.keeper.client.run import LocalRun
from nacre.keeper.protocol.ending import EndKind
from nacre.protected_paths import Protection, restore_snapshot
from nacre.result import TaskRef
from nacre.types import Plan, ToolContext

_SLEEPS = lazy_regex(r"\s*sleep\s+[\d.]+[smh]?\s*(?:;|&&|\n)")
_MIN_SLEEP_S = 1.0
_WAIT_HINT = (
    "To wait for a task, use no `sleep`: reading it with `block`, or `nacre wait ID`, returns as soon as it ends or "
    "prints what you wait for."
)


class ForegroundRun:
    """A run whose caller waits for it."""

    def __init__(
        self,
        run: RunHandle,
        collector: Collector,
        plan: Plan,
        ctx: ToolContext,
        protection: Protection | None = None,
    ) -> None:
        """`protection`: snapshot of the protected paths. If the run becomes a task, the task's keeper compares them at
        its end."""
        self._run = run
        self._protection = protection
        self._collector = collector
        self._plan, self._ctx = plan, ctx
        self._began = time.time(), asyncio.get_running_loop().time()
        # check for LocalRun first: it is the usual class, and `isinstance` with a protocol is slow
        self._remote_run = run if not isinstance(run, LocalRun) and isinstance(run, RemoteRun) else None
        after = None if self._remote_run is not None else plan.timing.yield_after
        self._until = None if after is None else self._began[1] + after
        self._waiting: deque[RunEvent] = deque()
        """Events not yet returned by `next`."""
        self._yielding = False
        """Promote the run once `_waiting` is empty."""
        self._is_promoted = False
        self._leftovers_stay = plan.leftovers != "end"
        self.task: TaskRef | None = None
        """The task that the run or its leftovers became."""
        self.notes: list[str] = []
        self.unenforced_rules: frozenset[str] = frozenset()
        """Restrictions that a remote machine did not enforce until the run ended."""

    async def next(self) -> RunEvent:
        if self._waiting:
            return self._waiting.popleft()
        if self._yielding:
            self._yielding = False
            return await self._promote()
        if self._until is None:
            return await self._next_event()
        try:
            async with asyncio.timeout_at(self._until):
                if asyncio.get_running_loop().time() < self._until:
                    return await self._next_event()
        except TimeoutError:
            pass
        self._until, self._yielding = None, True
        self._waiting.extend(self._run.pause())
        return await self.next()

    async def _next_event(self) -> RunEvent:
        """Return the next event. Skips late answers to adoption requests."""
        while isinstance(happening := await self._run.next(), AdoptionFailed | Adopted | TaskRunning):
            continue
        return happening

    async def _promote(self) -> RunEvent:
        try:
            from nacre.tasks.create import promote

            task, meanwhile = await promote(
                self._run, self._collector, self._plan, self._ctx, self._began[0], self._protection
            )
        except (InvalidRequest, OSError) as error:
            why = error.message if isinstance(error, InvalidRequest) else _not_loaded(error)
            self.notes.append(f"It could not become a background task: {why}")
            self._run.resume()
            return await self._next_event()
        self._waiting.extend(meanwhile)
        if task is None:
            return await self.next()
        self._take(task)
        self._is_promoted = True
        self._run.detach()
        return Promoted(task, asyncio.get_running_loop().time() - self._began[1])

    async def adopt(self, last: RunEvent) -> None:
        """Make the leftovers of an exited shell a task, so that they can be read and killed."""
        run = self._run
        if self._remote_run is not None:
            self.task = self._remote_run.task
            self.notes += self._remote_run.notes
            self.unenforced_rules = self._remote_run.unenforced_rules
            return
        if not (self._leftovers_stay and isinstance(last, RunStopped) and last.running):
            return
        if last.reason.kind is not EndKind.EXIT:
            return
        if isinstance(run, LocalRun):
            become: TaskRef | str
            try:
                from nacre.tasks.create import adopt

                become = await adopt(run, self._plan, self._ctx, self._began[0], self._protection)
            except OSError as error:
                become = _not_loaded(error)
            if isinstance(become, TaskRef):
                self._take(become)
            elif become:
                self.notes.append(f"The processes it left running could not become a task: {become}")

    async def restore(self) -> list[str]:
        """Undo changes to protected paths; return a note for each. Nothing is undone while the shell runs. A task may
        change them again: its keeper restores them at its end, and until then later runs of this process share its
        snapshot."""
        if self._protection is None:
            return []
        if self.task is None or self._remote_run is not None:
            return await restore_snapshot(self._protection)
        from nacre.tasks.restore_protected import hold_for_task

        undone = [] if self._is_promoted else await restore_snapshot(self._protection, becomes_task=True)
        hold_for_task(self._protection, os.path.dirname(self.task.output_file))
        return undone

    def suggest_wait(self, last: RunEvent) -> None:
        """If the model called `sleep` to wait for a task, note that it can wait for the task itself."""
        if isinstance(last, RunStopped) and last.duration >= _MIN_SLEEP_S and _SLEEPS.match(self._plan.request.command):
            with contextlib.suppress(OSError):  # no file descriptor left to load them with
                from nacre.tasks.create import task_root
                from nacre.tasks.store.store import live_names

                if live_names(task_root(self._plan)):
                    self.notes.append(_WAIT_HINT)

    def _take(self, task: TaskRef) -> None:
        self.task = task
        self.notes.append(running_note(task))


async def kill_and_wait(run: RunHandle, timeout: float) -> None:
    """Kill a run if it is active and wait until it has ended, for at most `timeout` seconds. Leftovers of a run that
    has ended are not killed."""
    if run.is_active:
        run.cancel()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout):
            while run.is_active:
                await run.next()


def _not_loaded(error: OSError) -> str:
    """Explain that the modules for tasks could not be loaded. The command has run: its result must not be lost for
    that."""
    return f"{error.strerror}."


def running_note(task: TaskRef) -> str:
    return f"It keeps running as task {task.id}; its output is in {task.output_file}."
