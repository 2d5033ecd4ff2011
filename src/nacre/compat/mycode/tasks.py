"""The task manager: background commands, and how they end."""

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
    """The tasks of the stores that it knows. Their keepers tell how they end; what others have started can be
    registered here, and has to be completed by whoever did."""

    def __init__(self, directory: StrPath | None = None) -> None:
        self._directory = directory
        self._more: dict[str, Tasks] = {}
        self._registered: dict[str, TaskInfo] = {}

    @property
    def tasks(self) -> Tasks:
        """The first of its stores: the directory that it was given, else the user's."""
        return Tasks(self._directory)

    def include(self, directory: StrPath) -> None:
        """Another store."""
        tasks = Tasks(directory)
        self._more[tasks.directory] = tasks

    def register(self, task: TaskInfo) -> None:
        """One that nacre has not started."""
        self._registered[task["id"]] = cast("TaskInfo", {"exitCode": None, **task})

    def complete(self, id: str, code: int) -> None:
        """One that was registered has ended. What nacre has started needs nobody to say so."""
        known = self._registered.get(id)
        if known is None:
            self.get(id)
            return
        known["status"], known["exitCode"] = "failed" if code else "completed", code

    def get(self, id: str) -> TaskInfo:
        """NoSuchTask: nobody has started it."""
        return self._registered[id] if id in self._registered else _info(self._home(id).get(id))

    def list(self) -> builtins.list[TaskInfo]:
        """Every one, the oldest first."""
        found = [_info(task) for tasks in self._stores() for task in tasks.list() if task.outcome is not None]
        return sorted([*found, *self._registered.values()], key=lambda info: info["startedAt"])

    async def listing(self, *, all: bool = True) -> str:
        """What `/tasks` shows."""
        texts = [
            await task_tools.call("TaskList", {"all": all}, tasks) for tasks in self._stores() if tasks.list(all=all)
        ]
        return "\n".join(texts) or "There are no tasks."

    async def task_output(self, arguments: Mapping[str, Any]) -> str:
        """What the TaskOutput tool answers; its definition is in `nacre.toolcall.task_tools.definitions()`."""
        id = arguments.get("task_id")
        return await task_tools.call("TaskOutput", arguments, self._home(id) if isinstance(id, str) else self.tasks)

    def _stores(self) -> builtins.list[Tasks]:
        first = self.tasks
        return [first, *(tasks for place, tasks in self._more.items() if place != first.directory)]

    def _home(self, id: str) -> Tasks:
        """The store that has it; the first, if none does."""
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
