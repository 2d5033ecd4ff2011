"""Protected paths of a workspace while a task may change them: how long later runs share its snapshot, and restoring
them if its keeper was killed.

Otherwise the keeper starts the restore (`protected_paths/restore_task.py`), even after this program has exited.
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
    """Make later runs of this program share the snapshot until the task has ended, or was lost and its changes
    undone."""
    protection.hold(partial(_has_ended, protection, directory))


@contextlib.contextmanager
def release_unless_held(protection: Protection | None) -> Iterator[None]:
    """Release the snapshot on exit, unless a task holds it: later runs need not share that of a run that has ended or
    never began."""
    try:
        yield
    finally:
        if protection is not None and not protection.is_held:
            protection.release()


def _has_ended(protection: Protection, directory: str) -> bool:
    """Return whether the task has ended. A lost task is restored first, from the snapshot in memory, which no other
    process can have changed."""
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
            if has_protection(folder.fd):  # otherwise another process has restored them
                write_notes(folder.fd, protection.restore())
                os.unlink(PROTECTION, dir_fd=folder.fd)
    except (OSError, InvalidRequest, InvalidTaskDirectory):
        return False  # retried when the next run begins
    return True


def settle_lost(folder: TaskDirectory, begun: ProcessFile) -> None:
    """Restore the protected paths of a task whose keeper was killed, once none of its processes is alive.

    Only in the user's default store, which cannot lie in a workspace: elsewhere a command may have written the content
    that would be restored. Not after a reboot: by then most changes are the user's.
    """
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
