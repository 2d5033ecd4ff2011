"""The execution of a plan in the foreground, from its start to its end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from nacre.base.heap import note_output
from nacre.cancel import call_on_cancel
from nacre.capture import Collector
from nacre.execution.exit_state import ExitStateFile
from nacre.execution.finish import FinishedRun
from nacre.execution.foreground import ForegroundRun, kill_and_wait
from nacre.execution.outcome import outcome_from
from nacre.execution.start import start_run
from nacre.keeper.client.connection import private_directory
from nacre.keeper.client.events import FinalEvent, OutputChunk, RunEvent, ShellStarted, parse_start_failed
from nacre.keeper.client.handle import RunHandle, UnstartedRun
from nacre.protected_paths import Protection, take_snapshot
from nacre.result import Chunk, Spill, Started
from nacre.types import Plan, ToolContext

if TYPE_CHECKING:
    from nacre.engines import Engine

_KEEPER_MARGIN_S = 1.0
"""Seconds beyond the grace that a keeper may take to kill a run."""


class Execution:
    """A run that its caller follows: starts on entry, yields `Started` and `Chunk`s, is released on exit.

    It owns the shell's exit-state file, the collector of the output, the snapshot of the protected paths, the run
    itself and its link to the caller's cancel switch. Leaving the block kills the run if it is active, waits until it
    has ended if protected paths must be restored, and restores them even if the caller's task is cancelled again.
    """

    def __init__(self, plan: Plan, ctx: ToolContext, engine: Engine, state: int | None = None) -> None:
        """`state`: descriptor of the session's state file."""
        self._plan = plan
        self._ctx = ctx
        self._engine = engine
        self._exit_state = ExitStateFile(plan, state)
        self._collector = collector_for(plan)
        self._pid: int | None = None
        self._last: FinalEvent | None = None
        self._rest: list[Chunk] = []
        self._spill: Spill | None = None
        self._restored: list[str] = []

    async def __aenter__(self) -> Execution:
        self._exit_state.open()
        try:
            self._run, self._protection = await self._start()
        except BaseException:
            self._close_files()
            raise
        self._foreground = ForegroundRun(self._run, self._collector, self._plan, self._ctx, self._protection)
        self._link = call_on_cancel(self._ctx.cancel, self._run.cancel)
        self._link.__enter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        self._link.__exit__(*error)
        try:
            await self._release()
        finally:
            self._close_files()

    def __aiter__(self) -> Execution:
        return self

    async def __anext__(self) -> Started | Chunk:
        while self._last is None:
            event = await self._foreground.next()
            if isinstance(event, ShellStarted):
                self._pid = event.pid
                return Started(event.pid, self._plan.timing.timeout, self._plan.redactor)
            if not isinstance(event, OutputChunk):
                self._end(event)
            elif data := self._collector.feed(event.stream, event.data):
                return Chunk(event.stream, data)
        if self._rest:
            return self._rest.pop(0)
        await self._foreground.adopt(self._last)
        self._foreground.suggest_wait(self._last)
        raise StopAsyncIteration

    def to_finished(self) -> FinishedRun:
        """Return what is known about the run. Call it after the block, which must have yielded every event."""
        last, plan, foreground = self._last, self._plan, self._foreground
        assert last is not None, "the run has not ended"
        out, err, both = self._collector.to_captured()
        note_output(both.total_bytes)
        task = foreground.task
        file = plan.output.spill_dir if task is None else task.output_file
        return FinishedRun(
            outcome=outcome_from(last, plan),
            last=last,
            pid=self._pid,
            out=out,
            err=err,
            both=both,
            last_output=self._run.last_output,
            pipestatus=self._exit_state.pipestatus,
            task=task,
            spill=self._spill,
            files_unreachable=not self._engine.can_read(plan, file),
            enforced=() if self._pid is None else self._enforced_parts(),
            notes=(*foreground.notes, *self._restored, *self._collector.notes()),
        )

    async def _start(self) -> tuple[RunHandle, Protection | None]:
        try:
            protection = await take_snapshot(self._plan)
        except OSError as error:  # its changes to protected paths could not be undone
            return UnstartedRun(parse_start_failed(error)), None
        try:
            run = await start_run(self._engine, self._plan, self._ctx.cancel, self._exit_state.fd)
        except BaseException:
            if protection is not None:
                protection.release()
            raise
        return run, protection

    def _end(self, last: RunEvent) -> None:
        assert isinstance(last, FinalEvent)
        self._last = last
        self._rest = [Chunk(stream, data) for stream, data in self._collector.flush()]

    async def _release(self) -> None:
        if self._protection is None:
            self._run.close()
        else:  # the clean-up completes even if this task is cancelled again
            self._restored = await asyncio.shield(self._kill_and_restore())

    async def _kill_and_restore(self) -> list[str]:
        """Kill the run if it is active, wait for its end, then restore protected paths: its clean-up on SIGTERM may
        change them. Returns notes on what was restored."""
        try:
            await kill_and_wait(self._run, self._plan.timing.grace + _KEEPER_MARGIN_S)
        finally:
            self._run.close()
            restored = await self._foreground.restore()
        return restored

    def _close_files(self) -> None:
        self._spill = self._collector.close()
        self._exit_state.close()

    def _enforced_parts(self) -> tuple[str, ...]:
        """Return the restrictions that were enforced until the run ended, here or on a remote machine."""
        lost = self._foreground.unenforced_rules
        if self._protection is not None:
            lost |= self._protection.unenforced_rules
        return tuple(name for name in self._plan.enforced if name not in lost)


def collector_for(plan: Plan) -> Collector:
    """Return a collector with the limits of the plan."""
    return Collector(
        limit=plan.output.memory,
        spill=plan.output.spill,
        directory=private_directory if plan.output.spill_dir is None else lambda: str(plan.output.spill_dir),
        name=plan.output.file_prefix,
        merge=plan.merge,
    )
