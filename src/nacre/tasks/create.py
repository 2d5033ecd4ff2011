"""How a run becomes a task: from its start, when its caller will not wait any longer, or by what it leaves running."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Literal

from nacre.capture import Collector
from nacre.errors import InvalidRequest
from nacre.keeper.client.connection import Folder
from nacre.keeper.client.events import Adopted, Happening, NotAdopted, Vanished
from nacre.keeper.client.handle import Live
from nacre.keeper.client.run import LiveRun
from nacre.keeper.protocol.messages import Adoption
from nacre.keeper.protocol.task_dir import LOG, STDIN
from nacre.keeper.protocol.task_log import Log
from nacre.protected_paths import Protection
from nacre.protected_paths.restore_task import digest_of
from nacre.redact.redactor import remember
from nacre.result import TaskRef
from nacre.tasks.store import store as stores
from nacre.types import Plan, Request, ToolContext

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PATIENCE = 5.0
"""Seconds for a keeper to answer."""


def place_for(plan: Plan) -> str:
    return plan.task_dir or stores.default_directory()


def check_room(plan: Plan) -> None:
    """InvalidRequest: there are too many tasks already."""
    place = place_for(plan)
    if len(stores.live_names(place)) < plan.tasks:
        return
    from nacre.tasks.tasks import Tasks  # some of those may be lost: look closer

    tasks = [task for task in Tasks(place).list(all=False) if task.alive]
    if len(tasks) >= plan.tasks:
        rows = "; ".join(f"{task.id} ({task.command[:60]!r}, {task.duration:.0f} s)" for task in tasks[-10:])
        raise InvalidRequest(
            "too_many_tasks",
            f"{len(tasks)} tasks are running, and the limit is {plan.tasks}. The latest: {rows}.",
            field="mode",
            hint="Kill some of them, or wait for one to end.",
        )


@contextmanager
def new_folder(
    request: Request,
    ctx: ToolContext,
    plan: Plan,
    kind: Literal["background", "promoted", "adopted"],
    *,
    began: float | None = None,
    protection: Protection | None = None,
) -> Iterator[Folder]:
    """A task's directory, open; whoever does not want it discards it. InvalidRequest: it cannot be kept."""
    place = place_for(plan)
    saved = b"" if protection is None else protection.save()
    try:
        name, path = stores.create(
            place,
            {
                "kind": kind,
                "command": request.command,
                "description": request.description,
                "cwd": plan.cwd,
                "created": round(began or time.time(), 3),
                "owner": {"uid": os.geteuid(), "pid": os.getpid(), "conversation": ctx.conversation_id},
                "timeout": None if plan.timeout == float("inf") or kind == "adopted" else plan.timeout,
                "access": ctx.access,
                "enforced": list(plan.enforced),
                "cap": plan.log,
                "stdin": plan.open_stdin,
                "detached": kind != "adopted" or plan.detach,
            },
            stdin=plan.open_stdin,
            protection=saved,
        )
    except OSError as error:
        raise stores.not_kept(place, error) from error
    with ExitStack() as stack:
        try:
            fd, stdin = os.open(path, _FOLDER), None
            stack.callback(os.close, fd)
            if plan.log_name:
                os.symlink(LOG, _log_name(plan, name), dir_fd=fd)
            if plan.open_stdin:
                stdin = os.open(STDIN, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
                stack.callback(os.close, stdin)
                os.set_blocking(stdin, True)
        except OSError as error:
            stores.discard(path)
            raise stores.not_kept(place, error) from error
        yield Folder(name, path, fd, stdin, digest_of(saved).encode() if saved else b"")


def reference(folder: Folder, plan: Plan, pid: int, pgid: int) -> TaskRef:
    remember(plan.hidden)
    return TaskRef(folder.task, pid, pgid, os.path.join(folder.path, _log_name(plan, folder.task)))


def _log_name(plan: Plan, id: str) -> str:
    return plan.log_name.format(id=id) if plan.log_name else LOG


async def promote(
    run: Live,
    collector: Collector,
    request: Request,
    ctx: ToolContext,
    plan: Plan,
    began: float,
    protection: Protection | None,
) -> tuple[TaskRef | None, list[Happening]]:
    """The task that it goes on as, or what has happened meanwhile: it has ended.

    Nobody reads from it while this lasts. InvalidRequest: it cannot become one.
    """
    if not isinstance(run, LiveRun):
        return None, []
    with new_folder(request, ctx, plan, "promoted", began=began, protection=protection) as folder:
        try:
            seen = _begin_log(folder, plan, collector)
            answer, meanwhile = await _ask(run, folder, plan, seen=seen, detached=True, live=True)
        except OSError as error:
            stores.discard(folder.path)
            raise stores.not_kept(place_for(plan), error) from error
        except BaseException:
            stores.discard(folder.path)
            raise
        if isinstance(answer, Adopted):
            return reference(folder, plan, answer.pid, answer.pgid), meanwhile
        stores.discard(folder.path)
        if not answer.gone:
            raise stores.not_kept(place_for(plan), OSError(0, answer.reason))
        return None, meanwhile


async def adopt(
    run: LiveRun, request: Request, ctx: ToolContext, plan: Plan, began: float, protection: Protection | None
) -> TaskRef | str:
    """What it left running as a task, or why not; nothing if that has ended by now."""
    try:
        check_room(plan)
        with new_folder(request, ctx, plan, "adopted", began=began, protection=protection) as folder:
            try:
                answer, _ = await _ask(run, folder, plan, seen=0, detached=plan.detach, live=False)
            except BaseException:
                stores.discard(folder.path)
                raise
            if isinstance(answer, Adopted):
                return reference(folder, plan, answer.pid, answer.pgid)
            stores.discard(folder.path)
            return "" if answer.gone else f"{answer.reason}."
    except InvalidRequest as error:
        return error.message
    except OSError as error:  # no descriptor left to look with
        return f"{error.strerror}."


async def _ask(
    run: LiveRun, folder: Folder, plan: Plan, *, seen: int, detached: bool, live: bool
) -> tuple[Adopted | NotAdopted, list[Happening]]:
    """The keeper's answer, and what has happened before it came."""
    adoption = Adoption(
        task=os.fsencode(folder.task),
        cap=plan.log,
        seen=seen,
        detached=detached,
        live=live,
        protection=folder.protection,
    )
    meanwhile: list[Happening] = []
    if not run.ask_adoption(adoption, folder.fd):
        return NotAdopted("it has ended", gone=True), meanwhile
    run.wake_keeper()
    try:
        async with asyncio.timeout(_PATIENCE):
            while True:
                happening = await run.next()
                if isinstance(happening, Adopted | NotAdopted):
                    return happening, meanwhile
                meanwhile.append(happening)
                if isinstance(happening, Vanished):
                    return NotAdopted("its keeper is gone", gone=True), meanwhile
    except TimeoutError:
        return NotAdopted("its keeper does not answer"), meanwhile
    finally:
        run.withdraw_adoption()  # its folder is open only until then


def _begin_log(folder: Folder, plan: Plan, collector: Collector) -> int:
    """Everything that was printed so far; gives how much that was."""
    log = Log(folder.fd, plan.log)
    try:
        for block in collector.so_far():
            log.write(block)
        log.skip(collector.seen - log.seen)
        return log.seen
    finally:
        log.close()
