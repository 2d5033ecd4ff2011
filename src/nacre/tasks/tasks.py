"""Tasks: the background commands of a store, whichever program started them.

    tasks = Tasks()
    for task in tasks.list(all=False):
        print(task.id, task.command, tasks.output(task.id, lines=5).text)
    await tasks.wait("bash-3f9c", until=Match("Listening on"), timeout=30)

Reads what keepers write. Nothing here keeps a task alive, and no state is kept between calls. Modules are imported by
the methods that need them: listing and reading need no asyncio.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, NoReturn

from nacre.base.threads import block_on
from nacre.errors import InvalidRequest
from nacre.keeper.protocol.task_dir import LIVE
from nacre.planning.validate import absolute, check_byte_count, encode_text
from nacre.tasks.handle import TaskHandle
from nacre.tasks.ids import no_such_task, resolve
from nacre.tasks.store.directory import InvalidTaskDirectory, open_store
from nacre.tasks.store.log_reader import MAX_READ_BYTES, Output, read_output
from nacre.tasks.store.status import names_in, read_task
from nacre.tasks.store.store import KEEP_BYTES, KEEP_SECONDS, KEEP_TASKS, default_directory
from nacre.tasks.store.task import Task
from nacre.types import StrPath

if TYPE_CHECKING:
    from nacre.tasks.clean import Cleaned
    from nacre.tasks.wait import WaitCondition, WaitResult


class Tasks:
    """Access to the tasks of a store.

    Ids may be given as a unique prefix of at least four digits, with or without `bash-`. Every method that takes an id
    raises NoSuchTask if there is no such task, or several.
    """

    def __init__(self, directory: StrPath | None = None) -> None:
        """Use the store at `directory`; by default, `tasks` in the user's state directory."""
        self.directory = default_directory() if directory is None else absolute(directory, "directory")

    def list(self, *, all: bool = True) -> builtins.list[Task]:
        """Return all tasks, oldest first; with `all=False`, only those that run."""
        store = open_store(self.directory)
        if store is None:
            return []
        try:
            found = [
                task for name in _names(store, all) if (task := read_task(self.directory, store, name)) is not None
            ]
        finally:
            os.close(store)
        return sorted([task for task in found if all or task.alive], key=_by_age)

    def get(self, id: str) -> Task:
        """Return a task by its id or a unique prefix of it (at least four digits). Raises NoSuchTask if no
        task has it, or several have."""
        return self._find(id)[1]

    def output(self, id: str, *, since: int = 0, lines: int | None = None, limit: int = MAX_READ_BYTES) -> Output:
        """Return output from byte `since` on (-N: the last N bytes), or only the last `lines` of it, at most `limit`
        bytes.

        Raises InvalidRequest if `since` is beyond the end, or the task's directory cannot be read.
        """
        place, task = self._find(id)
        _check_reading(since, lines, limit)
        try:
            with place.open_directory() as folder:
                return read_output(folder, since, lines, limit)
        except FileNotFoundError:
            raise no_such_task(self.directory, id) from None
        except InvalidTaskDirectory as error:
            _refuse(task, str(error))

    async def follow(self, id: str, *, since: int = 0) -> AsyncGenerator[Output, None]:
        """Yield output from byte `since` on, as it is printed. The last item is of a task that has ended."""
        from nacre.tasks.follow import follow

        place, task = self._find(id)
        _check_reading(since, None, 0)
        try:
            async with aclosing(follow(place, since)) as outputs:
                async for output in outputs:
                    yield output
        except FileNotFoundError:
            raise no_such_task(self.directory, id) from None
        except InvalidTaskDirectory as error:
            _refuse(task, str(error))

    async def wait(
        self,
        ids: str | Sequence[str],
        *,
        any: bool = False,
        timeout: float | None = None,
        until: WaitCondition | None = None,
    ) -> WaitResult:
        """Wait until `until` is met (default: `Exit()`) by all tasks, or by one with `any`, or they have ended, or
        `timeout` seconds have passed.

        Cancelling the wait does not affect the tasks. Raises InvalidRequest for an invalid condition or timeout.
        """
        from nacre.tasks.wait import Exit, validate, wait

        until = Exit() if until is None else until
        validate(until, timeout)
        found = [self._find(id) for id in ([ids] if isinstance(ids, str) else ids)]
        places = {place.id: place for place, _ in found}
        return await wait(builtins.list(places.values()), any=any, timeout=timeout, until=until)

    def wait_sync(
        self,
        ids: str | Sequence[str],
        *,
        any: bool = False,
        timeout: float | None = None,
        until: WaitCondition | None = None,
    ) -> WaitResult:
        """Do the same as `wait` without an event loop. Inside a running loop it works too, and blocks it."""
        return block_on(self.wait(ids, any=any, timeout=timeout, until=until))

    async def kill(self, id: str, *, signal: int | str = "TERM", grace: float = 5.0) -> Task:
        """Kill a task with all its processes: `signal`, then SIGKILL after `grace` seconds. Return the task.

        A task that has ended is not changed. Raises InvalidRequest for an invalid signal or grace.
        """
        from nacre.tasks import kill as killing

        place, _ = self._find(id)
        return await killing.kill(place, killing.signal_number(signal), killing.checked_grace(grace))

    def kill_sync(self, id: str, *, signal: int | str = "TERM", grace: float = 5.0) -> Task:
        """Do the same as `kill` without an event loop."""
        return block_on(self.kill(id, signal=signal, grace=grace))

    async def write(self, id: str, data: bytes | str, *, close: bool = False) -> None:
        """Write to a task's standard input, then close it if `close`. Waits while the task does not read.

        Raises InvalidRequest if the task has ended, or its standard input is not open.
        """
        from nacre.tasks import stdin as writing

        place, _ = self._find(id)
        await writing.write(place, encode_text(data, "data", nul_allowed=True) if isinstance(data, str) else data)
        if close:
            await writing.close_stdin(place, may_have_ended=True)

    async def close_stdin(self, id: str) -> None:
        """Close a task's standard input, so that it reads EOF. Raises InvalidRequest if it is not open."""
        from nacre.tasks import stdin as writing

        await writing.close_stdin(self._find(id)[0])

    async def completions(self, *, poll_new: float = 1.0) -> AsyncGenerator[Task, None]:
        """Yield each task that runs now or starts later, when it ends. Never ends; new tasks are looked for every
        `poll_new` seconds."""
        from nacre.tasks.completions import completions
        from nacre.tasks.wait import is_seconds

        if not is_seconds(poll_new) or not poll_new:
            raise InvalidRequest("bad_poll", f"`poll_new` is {poll_new!r}.", field="poll_new", hint="Give seconds.")
        async with aclosing(completions(self.directory, poll_new)) as ended:
            async for task in ended:
                yield task

    def clean(
        self, *, older_than: float = KEEP_SECONDS, keep_bytes: int = KEEP_BYTES, keep: int = KEEP_TASKS
    ) -> Cleaned:
        """Remove finished tasks: those older than `older_than` seconds, then the oldest until at most `keep` tasks and
        `keep_bytes` bytes are left.

        Return the ids removed, the bytes freed, and the problems met.
        """
        from nacre.tasks.clean import clean

        return clean(self.directory, older_than=older_than, keep_bytes=keep_bytes, keep=keep)

    def _find(self, id: str) -> tuple[TaskHandle, Task]:
        name = resolve(self.directory, id)
        task = TaskHandle(self.directory, name).find()
        if task is None:
            raise no_such_task(self.directory, id)
        return TaskHandle(self.directory, name, task), task


def _names(store: int, all: bool) -> builtins.list[str]:
    if not all:
        try:
            live = os.open(LIVE, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=store)
        except OSError:
            return names_in(store)
        try:
            return names_in(live)
        finally:
            os.close(live)
    return names_in(store)


def _by_age(task: Task) -> tuple[float, str]:
    return task.created, task.id


def _check_reading(since: int, lines: int | None, limit: int) -> None:
    if isinstance(since, bool) or not isinstance(since, int):
        raise InvalidRequest("bad_cursor", f"`since` is {since!r}.", field="since", hint="Give a number of bytes.")
    if lines is not None and (isinstance(lines, bool) or not isinstance(lines, int) or lines < 0):
        raise InvalidRequest("bad_lines", f"`lines` is {lines!r}.", field="lines", hint="Give a number of lines.")
    check_byte_count(limit, "limit")


def _refuse(task: Task, problem: str) -> NoReturn:
    raise InvalidRequest(
        "task_broken",
        f"Cannot read {task.id}: {problem}.",
        field="task",
        hint=f"Inspect {task.directory!r}; nacre removes only files that it wrote.",
    )
