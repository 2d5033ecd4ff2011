"""Options that select tasks: of `--dir`, of this user, or of a cluster."""

from __future__ import annotations

import os

from nacre.cli.common.arguments import OptionGroup
from nacre.cli.common.usage import UsageError
from nacre.tasks.store.directory import open_store
from nacre.tasks.tasks import Tasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from nacre.cli.common.parser import OptionParser


class TaskSelection(OptionGroup):
    """Options that select tasks."""

    dir: str | None = None
    engine: str | None = None

    @staticmethod
    def add_options(parser: OptionParser) -> None:
        add = parser.add_argument
        add("--dir", metavar="DIR", help="where tasks are kept")
        add(
            "--engine",
            metavar="NAME",
            help="where they run: local (default) or ray; not needed for ID@NODE",
        )

    def open_tasks(self, ids: Sequence[str] = ()) -> Tasks:
        """Return the tasks to operate on. `ids` are the task ids given; ID@NODE means a task of a cluster, whatever the
        other options. Raise UsageError if the directory cannot be read."""
        if self._is_of_cluster(ids):
            from nacre.engines.ray import RayEngine  # imported here because it loads Ray

            return RayEngine().tasks(self.dir)
        tasks = Tasks(self.dir)
        try:
            fd = open_store(tasks.directory)
        except OSError as error:
            raise UsageError(f"Cannot read {tasks.directory}: {error.strerror}.", field="dir") from error
        if fd is not None:
            os.close(fd)
        return tasks

    def _is_of_cluster(self, ids: Sequence[str]) -> bool:
        if self.engine not in (None, "local", "ray"):
            raise UsageError(
                f"--engine {self.engine!r} has no separate tasks.",
                "Write --engine ray for tasks of a cluster; tasks of all other engines need no --engine.",
                field="engine",
            )
        return self.engine == "ray" or any("@" in id for id in ids)
