"""Start a background task: yield its result as soon as it runs, or how it ended if it failed at once."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from nacre.base.frozen import replace
from nacre.cancel import call_on_cancel
from nacre.capture.head_tail import HeadTailBuffer
from nacre.errors import InvalidRequest
from nacre.execution.finish import FinishedRun, build_result, result_of_unstarted
from nacre.execution.outcome import notes_on_end, outcome_from
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
from nacre.protected_paths import Protection, restore_snapshot, take_snapshot
from nacre.result import Captured, Ended, Event, Running, Started
from nacre.tasks.clean import auto_clean
from nacre.tasks.create import check_task_limit, new_task_dir, task_ref, task_root
from nacre.tasks.handle import TaskHandle
from nacre.tasks.restore_protected import hold_for_task, release_unless_held
from nacre.tasks.store import store
from nacre.types import Plan, ToolContext

if TYPE_CHECKING:
    from nacre.engines import Engine

_START_TIMEOUT_S = 10.0
"""Seconds. Only a stopped keeper takes longer."""


async def start_background(plan: Plan, ctx: ToolContext, engine: Engine) -> AsyncGenerator[Event, None]:
    """Start `plan` as a background task; yield `Started`, if it started, and `Ended`."""
    check_task_limit(plan)
    try:
        protection = await take_snapshot(plan)
    except OSError as error:  # its changes to protected paths could not be undone
        yield Ended(result_of_unstarted(plan, outcome_from(parse_start_failed(error), plan)))
        return
    with (
        release_unless_held(protection),
        new_task_dir(plan, ctx, "background", protection=protection) as folder,
    ):
        pid, last = await _start(plan, ctx, engine, folder, protection)
        if pid is not None:
            yield Started(pid, plan.timing.timeout, plan.redactor)
        if last is None:
            assert pid is not None
            auto_clean(task_root(plan))
            run = FinishedRun(outcome=Running(folder.task), task=task_ref(folder, plan, pid, pid))
        else:
            run = await _finish_at_once(plan, folder, protection, pid, last)
        unreachable = not engine.can_read(plan, folder.path)
        enforced = () if pid is None else plan.enforced
        run = replace(run, pid=pid, files_unreachable=unreachable, enforced=enforced)
        yield Ended(build_result(plan, run, notes_on_end(plan, run)))


async def _start(
    plan: Plan, ctx: ToolContext, engine: Engine, folder: TaskDirHandle, protection: Protection | None
) -> tuple[int | None, FinalEvent | None]:
    """Start the task in its directory. Return the shell's PID, if it started, and the final event unless it runs.

    A task that runs holds the snapshot of its protected paths. If this call is cancelled, the task is killed.
    """
    try:
        run = await start_run(engine, plan, ctx.cancel, folder=folder)
    except BaseException:
        store.discard(folder.path)  # or the task would count as running until its start timeout
        raise
    try:
        with call_on_cancel(ctx.cancel, run.cancel):
            pid, event = await _wait_until_started(run)
            if isinstance(event, TaskRunning):
                run.detach()
    except BaseException:
        if not store.has_process_file(folder.path):
            store.discard(folder.path)  # likewise; and a start in progress fails: no process file
        elif protection is not None:
            hold_for_task(protection, folder.path)
        raise
    finally:
        run.close()  # kills it unless detached: a caller without the task's id could not control it
    if not isinstance(event, TaskRunning):
        return pid, event
    if protection is not None:
        hold_for_task(protection, folder.path)
    return pid, None


async def _finish_at_once(
    plan: Plan, folder: TaskDirHandle, protection: Protection | None, pid: int | None, last: FinalEvent
) -> FinishedRun:
    """Describe a task that failed to start, or ended before its caller learned of it. `pid`: of its shell, if it
    started."""
    output, notes, is_lost = Captured(), list[str](), isinstance(last, KeeperLost)
    if pid is not None and isinstance(last, RunStopped | KeeperLost):
        try:
            output = _read_output(folder, plan)
        except OSError as error:  # no file descriptor left to read with
            notes.append(f"Its output could not be read: {error.strerror}.")
    if protection is not None and is_lost:
        notes += await restore_snapshot(protection)
    elif protection is not None and pid is not None:
        notes += _notes_on(folder)
    if pid is None or is_lost:
        store.discard(folder.path)
    return FinishedRun(
        outcome=outcome_from(last, plan),
        last=last,
        out=output,
        both=output,
        last_output=last.duration,  # how long it was silent is not known
        task=None if pid is None or is_lost else task_ref(folder, plan, pid, pid),
        notes=tuple(notes),
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

    record, tasks = HeadTailBuffer(plan.output.memory), Tasks(os.path.dirname(folder.path))
    cursor, more = 0, True
    while more:
        output = tasks.output(folder.task, since=cursor)
        record.add(output.data)
        cursor, more = output.cursor, output.more
    return record.to_captured()
