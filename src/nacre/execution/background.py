"""A plan in, a task that has just begun out; or how it ended, if that was at once."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from nacre.capture.head_tail import Record
from nacre.errors import InvalidRequest
from nacre.execution.outcome import outcome_of, remarks_on
from nacre.execution.start import started
from nacre.keeper.client.connection import Folder
from nacre.keeper.client.events import Began, Going, LastWord, NeverBegan, Stopped, Vanished, never_began
from nacre.keeper.client.handle import Live
from nacre.protected_paths import remember, restored
from nacre.result import Captured, Ended, Event, Outcome, Result, Running, Started
from nacre.tasks.clean import tidy
from nacre.tasks.create import check_room, new_folder, place_for, reference
from nacre.tasks.handle import Place
from nacre.tasks.restore_protected import hold_for_task, release_unless_held
from nacre.tasks.store import store
from nacre.types import Plan, Request, ToolContext

if TYPE_CHECKING:
    from nacre.engines import Engine

_PATIENCE = 10.0
"""Seconds that only a keeper that was stopped can take."""


async def begin(request: Request, ctx: ToolContext, plan: Plan, engine: Engine) -> AsyncGenerator[Event, None]:
    """Started and Ended."""
    check_room(plan)
    try:
        protection = await remember(plan)
    except OSError as error:  # what it might do could not be undone
        unstarted = outcome_of(never_began(error), plan)
        yield Ended(
            Result(command=request.command, cwd=plan.cwd, outcome=unstarted, remarks=plan.remarks, hidden=plan.hidden)
        )
        return
    with release_unless_held(protection), new_folder(request, ctx, plan, "background", protection=protection) as folder:
        try:
            run = await started(engine, plan, ctx.cancel, folder=folder)
        except BaseException:
            store.discard(folder.path)  # or it would be said to run until its time to begin is over
            raise
        forget = None if ctx.cancel is None else ctx.cancel.on_cancel(run.cancel)
        try:
            pid, happening = await _settled(run)
            if isinstance(happening, Going):
                run.let_go()
        except BaseException:
            if not store.has_begun(folder.path):
                store.discard(folder.path)  # the same; and if it is about to begin, it is called off
            elif protection is not None:
                hold_for_task(protection, folder.path)
            raise
        finally:
            if forget is not None:
                forget()
            run.close()  # whoever did not hear of it can do nothing with it: it is ended
        if isinstance(happening, Going) and protection is not None:
            hold_for_task(protection, folder.path)
        if pid is not None:
            yield Started(pid, plan.timeout, plan.hidden)
        if isinstance(happening, Going):
            tidy(place_for(plan))
        remarks = [*plan.remarks]
        if isinstance(happening, Going):
            assert pid is not None
            outcome: Outcome = Running(folder.task)
            duration, seen = 0.0, Captured()
        else:
            outcome, duration = outcome_of(happening, plan), happening.duration
            seen = Captured()
            remarks += remarks_on(happening, outcome, plan, 0.0)
            if pid is not None and isinstance(happening, Stopped | Vanished):
                try:
                    seen = _printed(folder, plan)
                except OSError as error:  # no descriptor left to read with
                    remarks.append(f"What it printed could not be read: {error.strerror}.")
            if protection is not None and isinstance(happening, Vanished):
                remarks += await restored(protection)
            elif protection is not None and pid is not None:
                remarks += _notes_on(folder)
            if pid is None or isinstance(happening, Vanished):
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
                task=None if pid is None or isinstance(happening, Vanished) else reference(folder, plan, pid, pid),
                elsewhere=not engine.shows(plan, folder.path),
                enforced=() if pid is None else plan.enforced,
                remarks=tuple(remarks),
                hidden=plan.hidden,
            )
        )


async def _settled(run: Live) -> tuple[int | None, Going | LastWord]:
    """Its shell, and what has become of that: it is going, or has ended already, or never began."""
    pid = None
    try:
        async with asyncio.timeout(_PATIENCE):
            while not isinstance(happening := await run.next(), Going | NeverBegan | Stopped | Vanished):
                if isinstance(happening, Began):
                    pid = happening.pid
    except TimeoutError:  # somebody has stopped its keeper
        return pid, NeverBegan(0, "its keeper does not answer") if pid is None else Going()
    return pid, happening


def _notes_on(folder: Folder) -> tuple[str, ...]:
    """What was put back when it had ended."""
    with contextlib.suppress(OSError, InvalidRequest):  # no descriptor left to look with, or it was removed
        task = Place(*os.path.split(folder.path)).find()
        return () if task is None else task.notes
    return ()


def _printed(folder: Folder, plan: Plan) -> Captured:
    """All that it said."""
    from nacre.tasks.tasks import Tasks

    record, tasks = Record(plan.output), Tasks(os.path.dirname(folder.path))
    cursor, more = 0, True
    while more:
        output = tasks.output(folder.task, since=cursor)
        record.add(output.data)
        cursor, more = output.cursor, output.more
    return record.captured()
