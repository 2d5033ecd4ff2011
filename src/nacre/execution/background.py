"""Start a background task: yield its result as soon as it runs, or how it ended if it failed at once."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from nacre.capture.head_tail import HeadTailBuffer
from nacre.errors import InvalidRequest
from nacre.execution.outcome import notes_on, outcome_from
from nacre.execution.start import start_run
from nacre.keeper.client.connection import TaskDirHandle
from nacre.keeper.client.events import (
    FinalEvent,
    KeeperLost,
    RunStopped,
    ShellStarted,
    StartFailed,
    TaskRunning,
    parse_start_failed,
)
from nacre.keeper.client.handle import RunHandle
from nacre.protected_paths import restore_snapshot, take_snapshot
from nacre.result import Captured, Ended, Event, Outcome, Result, Running, Started
from nacre.tasks.clean import auto_clean
from nacre.tasks.create import check_task_limit, new_task_dir, task_ref, task_root
from nacre.tasks.handle import TaskHandle
from nacre.tasks.restore_protected import hold_for_task, release_unless_held
from nacre.tasks.store import store
from nacre.types import Plan, Request, ToolContext

if TYPE_CHECKING:
    from nacre.engines import Engine

_START_TIMEOUT_S = 10.0
"""Seconds. Only a stopped keeper takes longer."""


async def start_background(
    request: Request, ctx: ToolContext, plan: Plan, engine: Engine
) -> AsyncGenerator[Event, None]:
    """Start `plan` as a background task; yield `Started`, if it started, and `Ended`."""
    check_task_limit(plan)
    try:
        protection = await take_snapshot(plan)
    except OSError as error:  # its changes to protected paths could not be undone
        unstarted = outcome_from(parse_start_failed(error), plan)
        yield Ended(
            Result(command=request.command, cwd=plan.cwd, outcome=unstarted, notes=plan.notes, redactor=plan.redactor)
        )
        return
    with (
        release_unless_held(protection),
        new_task_dir(request, ctx, plan, "background", protection=protection) as folder,
    ):
        try:
            run = await start_run(engine, plan, ctx.cancel, folder=folder)
        except BaseException:
            store.discard(folder.path)  # or the task would count as running until its start timeout
            raise
        forget = None if ctx.cancel is None else ctx.cancel.on_cancel(run.cancel)
        try:
            pid, happening = await _wait_until_started(run)
            if isinstance(happening, TaskRunning):
                run.detach()
        except BaseException:
            if not store.has_process_file(folder.path):
                store.discard(folder.path)  # likewise; and a start in progress fails: no process file
            elif protection is not None:
                hold_for_task(protection, folder.path)
            raise
        finally:
            if forget is not None:
                forget()
            run.close()  # kills it unless detached: a caller without the task's id could not control it
        if isinstance(happening, TaskRunning) and protection is not None:
            hold_for_task(protection, folder.path)
        if pid is not None:
            yield Started(pid, plan.timeout, plan.redactor)
        if isinstance(happening, TaskRunning):
            auto_clean(task_root(plan))
        notes = [*plan.notes]
        if isinstance(happening, TaskRunning):
            assert pid is not None
            outcome: Outcome = Running(folder.task)
            duration, seen = 0.0, Captured()
        else:
            outcome, duration = outcome_from(happening, plan), happening.duration
            seen = Captured()
            notes += notes_on(happening, outcome, plan, 0.0)
            if pid is not None and isinstance(happening, RunStopped | KeeperLost):
                try:
                    seen = _read_output(folder, plan)
                except OSError as error:  # no file descriptor left to read with
                    notes.append(f"Its output could not be read: {error.strerror}.")
            if protection is not None and isinstance(happening, KeeperLost):
                notes += await restore_snapshot(protection)
            elif protection is not None and pid is not None:
                notes += _notes_on(folder)
            if pid is None or isinstance(happening, KeeperLost):
                store.discard(folder.path)
        yield Ended(
            Result(
                command=request.command,
                cwd=plan.cwd,
                outcome=outcome,
                out=seen,
                both=seen,
                duration=duration,
                pid=pid,
                task=None if pid is None or isinstance(happening, KeeperLost) else task_ref(folder, plan, pid, pid),
                files_unreachable=not engine.can_read(plan, folder.path),
                enforced=() if pid is None else plan.enforced,
                notes=tuple(notes),
                redactor=plan.redactor,
            )
        )


async def _wait_until_started(run: RunHandle) -> tuple[int | None, TaskRunning | FinalEvent]:
    """Return the shell's PID, if it started, and the first decisive event: the task runs, has ended, or did not
    start."""
    pid = None
    try:
        async with asyncio.timeout(_START_TIMEOUT_S):
            while not isinstance(happening := await run.next(), TaskRunning | StartFailed | RunStopped | KeeperLost):
                if isinstance(happening, ShellStarted):
                    pid = happening.pid
    except TimeoutError:  # its keeper was stopped (SIGSTOP)
        return pid, StartFailed(0, "its keeper does not answer") if pid is None else TaskRunning()
    return pid, happening


def _notes_on(folder: TaskDirHandle) -> tuple[str, ...]:
    """Return the notes on restored paths of a task that has ended."""
    with contextlib.suppress(OSError, InvalidRequest):  # no file descriptor left, or the task's directory was removed
        task = TaskHandle(*os.path.split(folder.path)).find()
        return () if task is None else task.notes
    return ()


def _read_output(folder: TaskDirHandle, plan: Plan) -> Captured:
    """Return all output of an ended task."""
    from nacre.tasks.tasks import Tasks

    record, tasks = HeadTailBuffer(plan.output), Tasks(os.path.dirname(folder.path))
    cursor, more = 0, True
    while more:
        output = tasks.output(folder.task, since=cursor)
        record.add(output.data)
        cursor, more = output.cursor, output.more
    return record.to_captured()
