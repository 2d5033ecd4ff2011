"""Protocol of the views of `nacre run`: each shows one run, its output while it runs and its result at the end."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Protocol

from nacre.approval.approve import NO_APPROVER
from nacre.cli.common.messages import notice
from nacre.cli.run.options import RunArguments
from nacre.errors import NoSuchTask
from nacre.result import Chunk, Refused, Result, Started, TaskRef


class View(Protocol):
    """Shows one run."""

    failure: OSError | None
    """Error of a write to stdout or stderr: the reader is gone, or the disk is full."""
    keeps_output: bool
    """True if output that the view does not show is kept in a file."""
    quiet: bool
    """True if nothing but the result may be printed."""

    async def begin(self, started: Started) -> None:
        """Called when the command has started."""

    async def write(self, chunk: Chunk) -> None:
        """Show output that has arrived."""

    async def end(self) -> None:
        """Called when no more output arrives."""

    def stop_waiting(self) -> None:
        """Stop waiting for a reader that has stopped reading: the command is being killed."""

    def abandon(self) -> None:
        """Called before this process exits at once."""

    def finish(self, result: Result) -> None:
        """Print the result. Called after the event loop has ended."""


def command_directory(options: RunArguments) -> str:
    """Return the directory to draw next to the command before its result is known; empty for a session, whose directory
    is stored."""
    return "" if options.session else os.path.abspath(options.request.cwd or ".")


def print_advice(result: Result, options: RunArguments) -> None:
    """Print notices about the options that would have changed the result."""
    if isinstance(result.outcome, Refused) and NO_APPROVER in result.outcome.reason:
        notice("pass --yes to approve")
    if result.task is not None and options.request.yield_after is not None and _ends_with_nacre(result.task):
        notice(f"{result.task.id} is killed now, as nacre exits; --detach keeps it running")


def _ends_with_nacre(task: TaskRef) -> bool:
    """Return whether the task is killed when this process exits: leftovers of a command that exited before
    `--yield-after`, unlike a promoted run."""
    from nacre.tasks.tasks import Tasks

    with suppress(NoSuchTask):
        return not Tasks(os.path.dirname(os.path.dirname(task.output_file))).get(task.id).detached
    return False
