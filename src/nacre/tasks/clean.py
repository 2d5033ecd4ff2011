"""Removal of finished tasks. Running tasks, lost tasks with live processes, and foreign files are kept.

A directory is renamed to a hidden name before it is deleted: if nacre dies half-way, no partial task is visible, and
the next clean removes the rest. Several processes may clean at once.
"""

from __future__ import annotations

import contextlib
import math
import os
import time

from nacre.base.frozen import frozen
from nacre.errors import InvalidRequest
from nacre.keeper.protocol.private_tmpdir import remove_below
from nacre.keeper.protocol.task_dir import CONTROL, LIVE, PROCESS, STATUS, TASK
from nacre.planning.validate import check_byte_count
from nacre.tasks.handle import TaskHandle
from nacre.tasks.kill import process_file_of, surviving_processes
from nacre.tasks.store.directory import InvalidTaskDirectory, TaskDirectory, open_store
from nacre.tasks.store.status import is_id, names_in, read_task
from nacre.tasks.store.store import KEEP_BYTES, KEEP_SECONDS, KEEP_TASKS
from nacre.tasks.store.task import Task

_REMOVED_PREFIX = ".removed-"
_LAST_CLEAN_FILE = ".swept"
_AUTO_CLEAN_INTERVAL_S = 3600.0
_CREATE_TIMEOUT_S = 60.0
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@frozen(kw_only=True)
class Cleaned:
    """Result of `Tasks.clean`."""

    removed: tuple[str, ...]
    """Ids of the removed tasks."""
    bytes: int
    """Disk space freed, in bytes."""
    problems: tuple[str, ...]
    """One message for each entry that could not be removed, with the reason."""


def clean(store: str, *, older_than: float, keep_bytes: int, keep: int) -> Cleaned:
    """Remove finished tasks of `store`.

    A task is removed if it ended more than `older_than` seconds ago. Then the oldest are removed until at most `keep`
    tasks and `keep_bytes` bytes are left. InvalidRequest: an argument is out of range.
    """
    if isinstance(older_than, bool) or not isinstance(older_than, int | float) or not 0 <= older_than <= math.inf:
        raise InvalidRequest("bad_age", f"`older_than` is {older_than!r}.", field="older_than", hint="Give seconds.")
    check_byte_count(keep_bytes, "keep_bytes")
    check_byte_count(keep, "keep")
    fd = open_store(store)
    if fd is None:
        return Cleaned(removed=(), bytes=0, problems=())
    try:
        return _Cleaner(store, fd).run(older_than, keep_bytes, keep)
    finally:
        os.close(fd)


def auto_clean(store: str) -> None:
    """Run `clean` with the default limits, at most once an hour. OSErrors are ignored."""
    note = os.path.join(store, _LAST_CLEAN_FILE)
    try:
        # abs(): the clock may be set back
        if abs(time.time() - os.stat(note, follow_symlinks=False).st_mtime) < _AUTO_CLEAN_INTERVAL_S:
            return
    except FileNotFoundError:
        pass
    except OSError:
        return
    with contextlib.suppress(OSError):
        os.close(os.open(note, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        os.utime(note, follow_symlinks=False)
        clean(store, older_than=KEEP_SECONDS, keep_bytes=KEEP_BYTES, keep=KEEP_TASKS)


class _Cleaner:
    def __init__(self, store: str, fd: int) -> None:
        self._store = store
        self._fd = fd
        self._removed: list[str] = []
        self._bytes = 0
        self._problems: list[str] = []

    def run(self, older_than: float, keep_bytes: int, keep: int) -> Cleaned:
        now = time.time()
        names = [name for name in names_in(self._fd) if is_id(name)]
        found = [(task, self._size(task.id)) for name in names if (task := self._removable_task(name, now)) is not None]
        found.sort(key=lambda each: (_end(each[0]), each[0].id))
        count, total = len(found), sum(size for _, size in found)
        for task, size in found:
            if now - _end(task) > older_than or count > keep or total > keep_bytes:
                self._remove(task.id, size)
                count, total = count - 1, total - size
        self._finish_others()
        self._clean_live_names()
        return Cleaned(removed=tuple(self._removed), bytes=self._bytes, problems=tuple(self._problems))

    def _removable_task(self, name: str, now: float) -> Task | None:
        """Read a task; return None if it may not be removed."""
        try:
            task = read_task(self._store, self._fd, name)
            if task is None or task.alive:
                return None
            if task.state == "broken":
                self._remove_half_made(name, now)
                return None
            if task.state == "lost":
                begun = process_file_of(TaskHandle(self._store, name))
                return None if begun is not None and surviving_processes(begun) else task
            return task
        except OSError as error:
            self._problems.append(f"{name}: {error.strerror}")
            return None

    def _remove_half_made(self, name: str, now: float) -> None:
        """Remove a directory whose creator died before it had written the task's files."""
        try:
            with TaskDirectory(self._store, self._fd, name) as folder:
                half = not {TASK, PROCESS, STATUS, CONTROL} & set(folder.names())
                if not half or folder.age(now) < _CREATE_TIMEOUT_S:
                    return
        except (FileNotFoundError, InvalidTaskDirectory):
            return
        self._remove(name, self._size(name))

    def _size(self, name: str) -> int:
        """Return the disk space of a task's directory, in bytes."""
        try:
            with TaskDirectory(self._store, self._fd, name) as folder, os.scandir(folder.fd) as entries:
                return sum([entry.stat(follow_symlinks=False).st_blocks * 512 for entry in entries])
        except (OSError, InvalidTaskDirectory):
            return 0

    def _remove(self, name: str, size: int) -> None:
        doomed = f"{_REMOVED_PREFIX}{name}"
        try:
            os.rename(name, doomed, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except FileNotFoundError:
            return  # another process removed it
        except OSError as error:
            self._problems.append(f"{name}: {error.strerror}")
            return
        self._removed.append(name)
        self._bytes += size
        self._finish(doomed)

    def _finish(self, doomed: str) -> None:
        try:
            remove_below(doomed, self._fd)
        except FileNotFoundError:
            pass  # another process removed it
        except OSError as error:
            self._problems.append(f"{doomed}: {error.strerror}")

    def _finish_others(self) -> None:
        for name in os.listdir(self._fd):
            if name.startswith(_REMOVED_PREFIX) and name.removeprefix(_REMOVED_PREFIX) not in self._removed:
                try:
                    TaskDirectory(self._store, self._fd, name).__exit__()
                except (OSError, InvalidTaskDirectory):
                    continue  # not a directory of this user
                self._finish(name)

    def _clean_live_names(self) -> None:
        """Unlink the names in `.live` of tasks that are gone or have ended. Their keeper would have done it."""
        try:
            live = os.open(LIVE, _DIRECTORY, dir_fd=self._fd)
        except OSError:
            return
        try:
            if os.fstat(live).st_uid != os.geteuid():
                return
            for name in os.listdir(live):
                if is_id(name) and self._has_ended(name):
                    try:
                        os.unlink(name, dir_fd=live)
                    except OSError:
                        continue
        finally:
            os.close(live)

    def _has_ended(self, name: str) -> bool:
        try:
            task = read_task(self._store, self._fd, name)
            if task is not None:
                return task.state == "ended"
            os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return False  # it is still being created


def _end(task: Task) -> float:
    return task.created + task.duration if task.ended is None else task.ended
