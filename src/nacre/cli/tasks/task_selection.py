"""Selects the tasks that a command line refers to: of `--dir`, of this user, or of a cluster."""

from __future__ import annotations

import os

from nacre.cli.common.usage import UsageError
from nacre.tasks.store.directory import open_store
from nacre.tasks.tasks import Tasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from nacre.cli.common.parser import ParsedArgs


def tasks_of(args: ParsedArgs, ids: Sequence[str] = ()) -> Tasks:
    """Return the tasks to operate on. `ids` are the task ids given; ID@NODE means a task of a cluster, whatever the
    other options. Raise UsageError if the directory cannot be read."""
    if _is_of_cluster(args.last("--engine"), ids):
        from nacre.engines.ray import RayEngine  # imported here because it loads Ray

        return RayEngine().tasks(args.last("--dir"))
    tasks = Tasks(args.last("--dir"))
    try:
        fd = open_store(tasks.directory)
    except OSError as error:
        raise UsageError(f"Cannot read {tasks.directory}: {error.strerror}.", field="dir") from error
    if fd is not None:
        os.close(fd)
    return tasks


def _is_of_cluster(engine: str | None, ids: Sequence[str]) -> bool:
    if engine not in (None, "local", "ray"):
        raise UsageError(
            f"--engine {engine!r} has no separate tasks.",
            "Write --engine ray for tasks of a cluster; tasks of all other engines need no --engine.",
            field="engine",
        )
    return engine == "ray" or [id for id in ids if "@" in id] != []
