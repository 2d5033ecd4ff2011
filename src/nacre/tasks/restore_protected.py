"""The protected paths of a workspace, while a task may change them: who shares its view, and who undoes it if its
keeper was killed.

Otherwise the keeper has that done (`protected_paths/restore_task.py`), also when this program is gone.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import partial

from nacre.errors import InvalidRequest
from nacre.keeper.protocol.restore_paths import UNRESTORED, has_protection
from nacre.keeper.protocol.task_dir import PROTECTION, STATUS
from nacre.protected_paths import Protection
from nacre.protected_paths.restore_task import restore, write_notes
from nacre.tasks.handle import TaskHandle
from nacre.tasks.kill import process_file_of, surviving_processes
from nacre.tasks.store.directory import InvalidTaskDirectory, TaskDirectory
from nacre.tasks.store.records import ProcessFile
from nacre.tasks.store.status import same_boot
from nacre.tasks.store.store import default_directory


def hold_for_task(protection: Protection, directory: str) -> None:
    """Later runs of this program share its view until the task has ended, or was lost and its work undone."""
    protection.hold(partial(_has_ended, protection, directory))


@contextlib.contextmanager
def release_unless_held(protection: Protection | None) -> Iterator[None]:
    """Later runs need not share the view of a run that has ended, or never began."""
    try:
        yield
    finally:
        if protection is not None and not protection.is_held:
            protection.release()


def _has_ended(protection: Protection, directory: str) -> bool:
    """Without a status it runs, or was lost. Then what it did is undone here: what this program remembers, nobody else
    can have changed."""
    if os.path.lexists(os.path.join(directory, STATUS)):
        return True
    place = TaskHandle(*os.path.split(directory))
    try:
        task = place.find()
        if task is None or task.state == "ended":
            return True
        begun = process_file_of(place)
        if task.state != "lost" or (begun is not None and surviving_processes(begun)):
            return False
        with place.open_directory() as folder:
            if has_protection(folder.fd):  # else another has undone it
                write_notes(folder.fd, protection.restore())
                os.unlink(PROTECTION, dir_fd=folder.fd)
    except (OSError, InvalidRequest, InvalidTaskDirectory):
        return False  # the next run sees
    return True


def settle_lost(folder: TaskDirectory, begun: ProcessFile) -> None:
    """Undo what a task has done whose keeper was killed, once nothing of it is left. Only in the user's own store,
    since no workspace can hold that: elsewhere a command may have written what would be put back. Not after a restart
    of the machine: by then most of what has changed is the user's."""
    if os.path.dirname(folder.path) != default_directory():
        return
    try:
        if not same_boot(begun.boot):
            _give_up(folder, "the machine was restarted")
        elif not surviving_processes(begun):
            restore(folder.fd)
    except (OSError, ValueError):
        with contextlib.suppress(OSError):
            _give_up(folder, "its keeper was killed, and the comparison failed")


def _give_up(folder: TaskDirectory, why: str) -> None:
    write_notes(folder.fd, [UNRESTORED % why])
    os.unlink(PROTECTION, dir_fd=folder.fd)
