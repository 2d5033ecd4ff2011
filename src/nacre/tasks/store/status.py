"""Read the state of a task: its directory goes in, a `Task` comes out.

A task has ended if status.json exists, and runs while its keeper listens. PIDs are not checked, because they are
reused.
"""

from __future__ import annotations

import os
import re
import socket
import time

from nacre.base.frozen import replace
from nacre.keeper.protocol.procfs import boot_id
from nacre.keeper.protocol.restore_paths import UNRESTORED, has_protection, read_notes
from nacre.keeper.protocol.task_dir import LOG, PROCESS, STATUS, TASK
from nacre.result import Lost, Running
from nacre.tasks.store.control_client import connect
from nacre.tasks.store.directory import InvalidTaskDirectory, TaskDirectory
from nacre.tasks.store.log_layout import Layout, build_layout
from nacre.tasks.store.records import (
    ProcessFile,
    StatusFile,
    TaskFile,
    parse_process_file,
    parse_status_file,
    parse_task_file,
)
from nacre.tasks.store.store import default_directory
from nacre.tasks.store.task import Task

_ID = re.compile(r"bash-[0-9a-f]{8}")
_START_TIMEOUT_S = 30.0
"""Seconds that a keeper may take to start."""
_CREATE_TIMEOUT_S = 60.0
"""Seconds for which a directory without task.json may still be under construction."""


def is_id(name: str) -> bool:
    """Return whether a name has the form of a task id."""
    return _ID.fullmatch(name) is not None


class StoredTask:
    """The task's parsed files, and a connection to its keeper."""

    __slots__ = ("connection", "lost", "problem", "process_file", "status_file", "task_file")

    def __init__(self, folder: TaskDirectory) -> None:
        self.connection: socket.socket | None = None
        """Connection to the keeper, if it could be reached. The caller closes it by `close`."""
        self.process_file: ProcessFile | None = None
        self.lost = self.problem = ""
        content = folder.json(TASK)
        if content is None:
            raise (
                FileNotFoundError(TASK)
                if folder.age(time.time()) < _CREATE_TIMEOUT_S
                else InvalidTaskDirectory(f"it has no {TASK}")
            )
        self.task_file: TaskFile = parse_task_file(content, folder.id)
        self.status_file: StatusFile | None = _read_status_file(folder)
        if self.status_file is None or self.status_file.pid is None:
            begun = folder.json(PROCESS)
            self.process_file = None if begun is None else parse_process_file(begun)
        if self.status_file is None:
            self._connect(folder)

    def _connect(self, folder: TaskDirectory) -> None:
        try:
            self.connection = connect(folder)
        except BlockingIOError:
            return
        except OSError as error:
            self.problem = f"its keeper cannot be reached: {error.strerror}"
            return
        if self.connection is not None:
            return
        self.status_file = _read_status_file(folder)
        if self.status_file is not None:
            return
        if self.process_file is None:
            if folder.age(time.time(), TASK) >= _START_TIMEOUT_S:
                self.lost = "it never started"
        elif not same_boot(self.process_file.boot):
            self.lost = "the machine was restarted"
        else:
            self.lost = "its keeper was killed"

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()


def _read_status_file(folder: TaskDirectory) -> StatusFile | None:
    data = folder.json(STATUS)
    return None if data is None else parse_status_file(data)


def same_boot(boot: str) -> bool:
    """Return whether `boot` may be the current boot: false only if both are known and differ."""
    return not boot or not boot_id() or boot == boot_id()


def read_task(store: str, store_fd: int, name: str) -> Task | None:
    """Read a task; None if it does not exist, or is not fully created yet. An invalid entry is returned as a `broken`
    task.

    The protected paths of a lost task are restored first. OSError: out of descriptors or memory.
    """
    try:
        if not is_id(name):
            raise InvalidTaskDirectory("its name is not a task id")
        with TaskDirectory(store, store_fd, name) as folder:
            stored = StoredTask(folder)
            try:
                if stored.lost and stored.process_file is not None and has_protection(folder.fd):
                    from nacre.tasks.restore_protected import settle_lost  # rarely needed

                    settle_lost(folder, stored.process_file)
                return build_task(folder, stored)
            finally:
                stored.close()
    except FileNotFoundError:
        return None
    except InvalidTaskDirectory as error:
        return unreadable_task(store, name, str(error))


def unreadable_task(store: str, name: str, problem: str) -> Task:
    """Return a `broken` task. A name that is not an id is shown quoted, since it may contain anything."""
    path = f"{store}/{name}"
    return Task(id=name if is_id(name) else repr(name), directory=path, state="broken", outcome=None, problem=problem)


def build_task(folder: TaskDirectory, stored: StoredTask, layout: Layout | None = None, seen: int = 0) -> Task:
    """Build a `Task` from its files. `seen`: bytes printed, as its keeper reports."""
    task_file, begun = stored.task_file, stored.process_file
    task = Task(
        id=folder.id,
        directory=folder.path,
        state="running",
        outcome=None,
        kind=task_file.kind,
        command=task_file.command,
        description=task_file.description,
        cwd=task_file.cwd,
        pid=None if begun is None else begun.pid,
        pgid=None if begun is None else begun.pgid,
        output_file=f"{folder.path}/{LOG}",
        created=task_file.created,
        owner_pid=task_file.owner_pid,
        conversation=task_file.conversation,
        access=task_file.access,
        timeout=task_file.timeout,
        detached=task_file.detached,
        stdin=task_file.stdin,
        problem=stored.problem,
    )
    if stored.status_file is not None:
        return _ended_task(task, stored.status_file)
    return _unended_task(task, folder, stored, layout, seen)


def _ended_task(task: Task, over: StatusFile) -> Task:
    return replace(
        task,
        state="ended",
        outcome=over.outcome,
        pid=over.pid or task.pid,
        pgid=over.pgid or task.pgid,
        bytes=over.bytes,
        dropped=over.dropped,
        ended=over.ended,
        duration=over.duration,
        running=over.running,
        out_of_memory=over.out_of_memory,
        notes=over.notes,
        problem=over.problem,
    )


def _unended_task(task: Task, folder: TaskDirectory, stored: StoredTask, layout: Layout | None, seen: int) -> Task:
    """Complete a task that runs or is lost: its keeper wrote no status."""
    layout = build_layout(folder, stored.task_file, None) if layout is None else layout
    seen = max(seen, layout.end)
    now = time.time()
    runs = not stored.lost
    return replace(
        task,
        state="running" if runs else "lost",
        outcome=Running(task.id, promoted=task.kind == "promoted") if runs else Lost(stored.lost),
        bytes=seen,
        dropped=seen - layout.count_kept_bytes(0, seen),
        duration=max(0.0, (now if runs else layout.touched) - task.created),
        idle=max(0.0, now - layout.touched) if runs and layout.touched else None,
        notes=() if runs else _notes_of_lost(folder),
    )


def _notes_of_lost(folder: TaskDirectory) -> tuple[str, ...]:
    try:
        return tuple(read_notes(folder.fd))
    except OSError:
        # in the default store, restored once no process is left
        own = os.path.dirname(folder.path) == default_directory()
        return (UNRESTORED % "its keeper was killed",) if has_protection(folder.fd) and not own else ()


def names_in(store_fd: int) -> list[str]:
    """Return the names in a store that are, or should be, tasks."""
    return [name for name in os.listdir(store_fd) if not name.startswith(".")]
