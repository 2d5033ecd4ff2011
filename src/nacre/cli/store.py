"""Which tasks a command line is about: those of `--dir`, or this user's."""

from __future__ import annotations

import os

from nacre.cli.usage import UsageError
from nacre.tasks.folders import open_store
from nacre.tasks.tasks import Tasks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.cli.words import Words


def tasks_of(asked: Words) -> Tasks:
    tasks = Tasks(asked.last("--dir"))
    try:
        fd = open_store(tasks.directory)
    except OSError as error:
        raise UsageError(f"{tasks.directory} cannot be read: {error.strerror}.", field="dir") from error
    if fd is not None:
        os.close(fd)
    return tasks
