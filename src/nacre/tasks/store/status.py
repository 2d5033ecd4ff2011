"""How a task stands: its directory in, a `Task` out.

It has ended when status.json says so, and runs while its keeper listens. Process ids are not asked: they are used
again.
"""

from __future__ import annotations

import functools
import os
import re
import socket
import time

from nacre.keeper.protocol.procfs import read
from nacre.keeper.protocol.restore_paths import UNRESTORED, has_protection, read_notes
from nacre.keeper.protocol.task_dir import LOG, PROCESS, STATUS, TASK
from nacre.result import Lost, Running
from nacre.tasks.store.control_client import connect
from nacre.tasks.store.directory import Folder, Unusable
from nacre.tasks.store.log_layout import Layout, lay_out
from nacre.tasks.store.records import Asked, Begun, Over, asked_from, begun_from, over_from
from nacre.tasks.store.store import default_directory
from nacre.tasks.store.task import Task

_ID = re.compile(r"bash-[0-9a-f]{8}")
_STARTING = 30.0
"""Seconds that a keeper may take to begin."""
_HALF_MADE = 60.0
"""Seconds in which a directory without task.json may be one that is being made."""


def is_id(name: str) -> bool:
    return _ID.fullmatch(name) is not None


class Standing:
    """What the files say, and who listens."""

    __slots__ = ("asked", "begun", "line", "lost", "over", "problem")

    def __init__(self, folder: Folder) -> None:
        self.line: socket.socket | None = None
        """To its keeper, if it could be reached; whoever looks has to close it."""
        self.begun: Begun | None = None
        self.lost = self.problem = ""
        asked = folder.json(TASK)
        if asked is None:
            raise FileNotFoundError(TASK) if folder.age(time.time()) < _HALF_MADE else Unusable(f"it has no {TASK}")
        self.asked: Asked = asked_from(asked, folder.id)
        self.over: Over | None = _over(folder)
        if self.over is None or self.over.pid is None:
            begun = folder.json(PROCESS)
            self.begun = None if begun is None else begun_from(begun)
        if self.over is None:
            self._reach(folder)

    def _reach(self, folder: Folder) -> None:
        try:
            self.line = connect(folder)
        except BlockingIOError:
            return
        except OSError as error:
            self.problem = f"its keeper cannot be asked: {error.strerror}"
            return
        if self.line is not None:
            return
        self.over = _over(folder)
        if self.over is not None:
            return
        if self.begun is None:
            if folder.age(time.time(), TASK) >= _STARTING:
                self.lost = "it never started"
        elif not same_boot(self.begun.boot):
            self.lost = "the machine was restarted"
        else:
            self.lost = "its keeper was killed"

    def close(self) -> None:
        if self.line is not None:
            self.line.close()


def _over(folder: Folder) -> Over | None:
    data = folder.json(STATUS)
    return None if data is None else over_from(data)


@functools.cache
def boot_id() -> str:
    """Empty where nobody knows."""
    return read("/proc/sys/kernel/random/boot_id").decode("ascii", "replace").strip()


def same_boot(boot: str) -> bool:
    """Not known to be another one."""
    return not boot or not boot_id() or boot == boot_id()


def look(store: str, store_fd: int, name: str) -> Task | None:
    """None: there is nothing of this name, or not yet. Whatever else may be there, something can be said about it."""
    try:
        if not is_id(name):
            raise Unusable("its name is not of a task")
        with Folder(store, store_fd, name) as folder:
            standing = Standing(folder)
            try:
                if standing.lost and standing.begun is not None and has_protection(folder.fd):
                    from nacre.tasks.restore_protected import settle_lost  # hardly ever needed

                    settle_lost(folder, standing.begun)
                return task_of(folder, standing)
            finally:
                standing.close()
    except FileNotFoundError:
        return None
    except Unusable as error:
        return broken(store, name, str(error))


def broken(store: str, name: str, problem: str) -> Task:
    """One that cannot be read. A name that is not ours is shown quoted: it may hold anything."""
    path = f"{store}/{name}"
    return Task(id=name if is_id(name) else repr(name), directory=path, state="broken", outcome=None, problem=problem)


def task_of(folder: Folder, standing: Standing, layout: Layout | None = None, seen: int = 0) -> Task:
    """`seen`: what its keeper says that it has printed."""
    asked, begun, over = standing.asked, standing.begun, standing.over
    pid, pgid = (None, None) if begun is None else (begun.pid, begun.pgid)
    if over is not None:
        return Task(
            id=folder.id,
            directory=folder.path,
            state="ended",
            outcome=over.outcome,
            kind=asked.kind,
            command=asked.command,
            description=asked.description,
            cwd=asked.cwd,
            pid=over.pid or pid,
            pgid=over.pgid or pgid,
            output_file=f"{folder.path}/{LOG}",
            bytes=over.bytes,
            dropped=over.dropped,
            created=asked.created,
            ended=over.ended,
            duration=over.duration,
            owner_pid=asked.owner_pid,
            conversation=asked.conversation,
            access=asked.access,
            timeout=asked.timeout,
            detached=asked.detached,
            stdin=asked.stdin,
            running=over.running,
            out_of_memory=over.out_of_memory,
            notes=over.notes,
            problem=over.problem,
        )
    layout = lay_out(folder, asked, None) if layout is None else layout
    seen = max(seen, layout.end)
    now = time.time()
    runs = not standing.lost
    return Task(
        id=folder.id,
        directory=folder.path,
        state="running" if runs else "lost",
        outcome=Running(folder.id, promoted=asked.kind == "promoted") if runs else Lost(standing.lost),
        kind=asked.kind,
        command=asked.command,
        description=asked.description,
        cwd=asked.cwd,
        pid=pid,
        pgid=pgid,
        output_file=f"{folder.path}/{LOG}",
        bytes=seen,
        dropped=seen - layout.kept(0, seen),
        created=asked.created,
        duration=max(0.0, (now if runs else layout.touched) - asked.created),
        idle=max(0.0, now - layout.touched) if runs and layout.touched else None,
        owner_pid=asked.owner_pid,
        conversation=asked.conversation,
        access=asked.access,
        timeout=asked.timeout,
        detached=asked.detached,
        stdin=asked.stdin,
        notes=() if runs else _notes_of_lost(folder),
        problem=standing.problem,
    )


def _notes_of_lost(folder: Folder) -> tuple[str, ...]:
    try:
        return tuple(read_notes(folder.fd))
    except OSError:
        own = os.path.dirname(folder.path) == default_directory()  # there it is undone as soon as nothing of it is left
        return (UNRESTORED % "its keeper was killed",) if has_protection(folder.fd) and not own else ()


def names_in(store_fd: int) -> list[str]:
    """Everything in a store that is or ought to be a task."""
    return [name for name in os.listdir(store_fd) if not name.startswith(".")]
