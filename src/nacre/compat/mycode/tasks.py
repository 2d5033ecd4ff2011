"""The task manager: background commands and their outcome."""

from __future__ import annotations

import builtins
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

from nacre.compat.mycode.types import TaskInfo
from nacre.errors import NoSuchTask
from nacre.tasks.store.task import Task
from nacre.tasks.tasks import Tasks
from nacre.toolcall import task_tools
from nacre.types import StrPath


class TaskManager:
    """The tasks of the known task directories, and registered ones.

    Keepers report the outcome of tasks that nacre started. Other tasks can be registered here; the caller that
    registered one must complete it.
    """

    def __init__(self, directory: StrPath | None = None) -> None:
        self._directory = directory
        self._more: dict[str, Tasks] = {}
        self._registered: dict[str, TaskInfo] = {}

    @property
    def tasks(self) -> Tasks:
        """Tasks in the first of its directories: the given one, else the user's default."""
        return Tasks(self._directory)

    def include(self, directory: StrPath) -> None:
        """Add another task directory."""
        tasks = Tasks(directory)
        self._more[tasks.directory] = tasks

    def register(self, task: TaskInfo) -> None:
        """Register a task that nacre did not start."""
        self._registered[task["id"]] = cast("TaskInfo", {"exitCode": None, **task})

    def complete(self, id: str, code: int) -> None:
        """Record the exit status of a registered task. Has no effect on tasks of nacre, whose keepers report it."""
        known = self._registered.get(id)
        if known is None:
            self.get(id)
            return
        known["status"], known["exitCode"] = "failed" if code else "completed", code

    def get(self, id: str) -> TaskInfo:
        """Return a task. Raise NoSuchTask if it is unknown."""
        return self._registered[id] if id in self._registered else _info(self._home(id).get(id))

    def list(self) -> builtins.list[TaskInfo]:
        """Return all tasks, the oldest first."""
        found = [_info(task) for tasks in self._stores() for task in tasks.list() if task.outcome is not None]
        return sorted([*found, *self._registered.values()], key=lambda info: info["startedAt"])

    async def listing(self, *, all: bool = True) -> str:
        """Return the text that `/tasks` shows."""
        texts = [
            await task_tools.call("TaskList", {"all": all}, tasks) for tasks in self._stores() if tasks.list(all=all)
        ]
        return "\n".join(texts) or "There are no tasks."

    async def task_output(self, arguments: Mapping[str, Any]) -> str:
        """Return the answer of the TaskOutput tool, which is defined in `nacre.toolcall.task_tools.definitions()`."""
        id = arguments.get("task_id")
        return await task_tools.call("TaskOutput", arguments, self._home(id) if isinstance(id, str) else self.tasks)

    def _stores(self) -> builtins.list[Tasks]:
        first = self.tasks
        return [first, *(tasks for place, tasks in self._more.items() if place != first.directory)]

    def _home(self, id: str) -> Tasks:
        """Return the directory that contains the task; the first one if none does."""
        for tasks in self._stores():
            try:
                tasks.get(id)
            except NoSuchTask:
                continue
            return tasks
        return self.tasks


def _info(task: Task) -> TaskInfo:
    named = os.path.join(task.directory, f"mycode-{task.id}.log")
    code = None if task.alive else 1 if task.exit_code is None else task.exit_code
    return {
        "id": task.id,
        "type": "bash",
        "command": task.command,
        "description": task.description,
        "pid": task.pid,
        "outputFile": named if os.path.lexists(named) else task.output_file,
        "startedAt": datetime.fromtimestamp(task.created, UTC),
        "status": "running" if code is None else "failed" if code else "completed",
        "exitCode": code,
    }
