"""Turn a run into a task: at its start (background), when its call stops waiting (promoted), or for its leftovers
(adopted)."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Literal

from nacre.capture import Collector
from nacre.errors import InvalidRequest
from nacre.keeper.client.connection import TaskDirHandle
from nacre.keeper.client.events import Adopted, AdoptionFailed, KeeperLost, RunEvent
from nacre.keeper.client.handle import RunHandle
from nacre.keeper.client.run import LocalRun
from nacre.keeper.protocol.messages import AdoptMessage
from nacre.keeper.protocol.task_dir import LOG, STDIN
from nacre.keeper.protocol.task_log import TaskLog
from nacre.protected_paths import Protection
from nacre.protected_paths.restore_task import digest_of
from nacre.redact.redactor import register_task_secrets
from nacre.result import TaskRef
from nacre.tasks.store import store as stores
from nacre.types import Plan, ToolContext

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_REPLY_TIMEOUT_S = 5.0
"""Seconds to wait for a keeper's answer."""


def task_root(plan: Plan) -> str:
    """Return the path of the store for this plan's tasks."""
    return plan.task.directory or stores.default_directory()


def check_task_limit(plan: Plan) -> None:
    """Raise InvalidRequest if the limit on running tasks is reached."""
    place = task_root(plan)
    if len(stores.live_names(place)) < plan.task.max_tasks:
        return
    from nacre.tasks.tasks import Tasks  # some may be lost: read their state

    tasks = [task for task in Tasks(place).list(all=False) if task.alive]
    if len(tasks) >= plan.task.max_tasks:
        rows = "; ".join(f"{task.id} ({task.command[:60]!r}, {task.duration:.0f} s)" for task in tasks[-10:])
        raise InvalidRequest(
            "too_many_tasks",
            f"{len(tasks)} tasks are running, and the limit is {plan.task.max_tasks}. The latest: {rows}.",
            field="mode",
            hint="Kill some of them, or wait for one to end.",
        )


@contextmanager
def new_task_dir(
    plan: Plan,
    ctx: ToolContext,
    kind: Literal["background", "promoted", "adopted"],
    *,
    began: float | None = None,
    protection: Protection | None = None,
) -> Iterator[TaskDirHandle]:
    """Create a task's directory and yield it open. The caller discards it if the task does not start.

    `protection` is saved there for the keeper. InvalidRequest: the directory cannot be written.
    """
    place = task_root(plan)
    saved = b"" if protection is None else protection.save()
    try:
        name, path = stores.create(
            place,
            {
                "kind": kind,
                "command": plan.request.command,
                "description": plan.request.description,
                "cwd": plan.cwd,
                "created": round(began or time.time(), 3),
                "owner": {"uid": os.geteuid(), "pid": os.getpid(), "conversation": ctx.conversation_id},
                "timeout": None if plan.timing.timeout == float("inf") or kind == "adopted" else plan.timing.timeout,
                "access": ctx.access,
                "enforced": list(plan.enforced),
                "cap": plan.task.log,
                "stdin": plan.open_stdin,
                "detached": kind != "adopted" or plan.leftovers == "detach",
            },
            stdin=plan.open_stdin,
            protection=saved,
        )
    except OSError as error:
        raise stores.store_error(place, error) from error
    with ExitStack() as stack:
        try:
            fd, stdin = os.open(path, _FOLDER), None
            stack.callback(os.close, fd)
            if plan.task.log_name:
                os.symlink(LOG, _log_name(plan, name), dir_fd=fd)
            if plan.open_stdin:
                stdin = os.open(STDIN, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
                stack.callback(os.close, stdin)
                os.set_blocking(stdin, True)
        except OSError as error:
            stores.discard(path)
            raise stores.store_error(place, error) from error
        yield TaskDirHandle(name, path, fd, stdin, digest_of(saved).encode() if saved else b"")


def task_ref(folder: TaskDirHandle, plan: Plan, pid: int, pgid: int) -> TaskRef:
    """Return the reference to a task that callers see."""
    register_task_secrets(plan.redactor)
    return TaskRef(folder.task, pid, pgid, os.path.join(folder.path, _log_name(plan, folder.task)))


def _log_name(plan: Plan, id: str) -> str:
    return plan.task.log_name.format(id=id) if plan.task.log_name else LOG


async def promote(
    run: RunHandle,
    collector: Collector,
    plan: Plan,
    ctx: ToolContext,
    began: float,
    protection: Protection | None,
) -> tuple[TaskRef | None, list[RunEvent]]:
    """Promote a run. Return the task, or None if the run has ended or is not local, and the events that arrived
    meanwhile.

    No other code may read events of the run during this call. InvalidRequest: the run cannot become a task.
    """
    if not isinstance(run, LocalRun):
        return None, []
    with new_task_dir(plan, ctx, "promoted", began=began, protection=protection) as folder:
        try:
            seen = _seed_log(folder, plan, collector)
            answer, meanwhile = await _request_adoption(run, folder, plan, seen=seen, detached=True, live=True)
        except OSError as error:
            stores.discard(folder.path)
            raise stores.store_error(task_root(plan), error) from error
        except BaseException:
            stores.discard(folder.path)
            raise
        if isinstance(answer, Adopted):
            return task_ref(folder, plan, answer.pid, answer.pgid), meanwhile
        stores.discard(folder.path)
        if not answer.gone:
            raise stores.store_error(task_root(plan), OSError(0, answer.reason))
        return None, meanwhile


async def adopt(
    run: LocalRun, plan: Plan, ctx: ToolContext, began: float, protection: Protection | None
) -> TaskRef | str:
    """Adopt the leftovers of a run as a task. Return the task, or a message why not; an empty message if they have
    exited."""
    try:
        check_task_limit(plan)
        with new_task_dir(plan, ctx, "adopted", began=began, protection=protection) as folder:
            try:
                answer, _ = await _request_adoption(
                    run, folder, plan, seen=0, detached=plan.leftovers == "detach", live=False
                )
            except BaseException:
                stores.discard(folder.path)
                raise
            if isinstance(answer, Adopted):
                return task_ref(folder, plan, answer.pid, answer.pgid)
            stores.discard(folder.path)
            return "" if answer.gone else f"{answer.reason}."
    except InvalidRequest as error:
        return error.message
    except OSError as error:  # out of descriptors
        return f"{error.strerror}."


async def _request_adoption(
    run: LocalRun, folder: TaskDirHandle, plan: Plan, *, seen: int, detached: bool, live: bool
) -> tuple[Adopted | AdoptionFailed, list[RunEvent]]:
    """Ask the keeper to make the run a task. Return its answer, and the events that arrived before it."""
    adoption = AdoptMessage(
        task=os.fsencode(folder.task),
        log_cap=plan.task.log,
        total_bytes=seen,
        detached=detached,
        live=live,
        protection=folder.protection,
    )
    meanwhile: list[RunEvent] = []
    if not run.request_adoption(adoption, folder.fd):
        return AdoptionFailed("it has ended", gone=True), meanwhile
    run.wake_keeper()
    try:
        async with asyncio.timeout(_REPLY_TIMEOUT_S):
            while True:
                happening = await run.next()
                if isinstance(happening, Adopted | AdoptionFailed):
                    return happening, meanwhile
                meanwhile.append(happening)
                if isinstance(happening, KeeperLost):
                    return AdoptionFailed("its keeper is gone", gone=True), meanwhile
    except TimeoutError:
        return AdoptionFailed("its keeper does not answer"), meanwhile
    finally:
        run.cancel_adoption()  # the directory's descriptor is valid only until then


def _seed_log(folder: TaskDirHandle, plan: Plan, collector: Collector) -> int:
    """Write the output so far to the task's log. Return the number of bytes printed."""
    log = TaskLog(folder.fd, plan.task.log)
    try:
        for block in collector.replay():
            log.write(block)
        log.skip(collector.total_bytes - log.total_bytes)
        return log.total_bytes
    finally:
        log.close()
