"""Report the tasks of a store as they end. New tasks are found by polling the directory."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator

from nacre.tasks.handle import TaskHandle
from nacre.tasks.store.directory import open_store
from nacre.tasks.store.status import is_id, names_in, read_task
from nacre.tasks.store.task import Task


async def completions(store: str, poll_new: float) -> AsyncGenerator[Task, None]:
    """Yield each task that runs now or starts later, once: when it ends, or is found lost.

    The directory is read every `poll_new` seconds. The generator never ends.
    """
    ended: asyncio.Queue[Task] = asyncio.Queue()
    known: set[str] = set()
    jobs: set[asyncio.Task[None]] = set()

    async def watch(place: TaskHandle) -> None:
        task = await place.wait_until_ended()
        if task.state != "broken":
            ended.put_nowait(task)

    def notice(*, first: bool) -> None:
        for task in _new(store, known):
            known.add(task.id)
            if task.alive:
                job = asyncio.ensure_future(watch(TaskHandle(store, task.id, task)))
                jobs.add(job)
                job.add_done_callback(jobs.discard)
            elif not first and task.state != "broken":
                ended.put_nowait(task)

    loop = asyncio.get_running_loop()
    try:
        notice(first=True)
        next_look = loop.time() + poll_new
        while True:
            try:
                async with asyncio.timeout_at(next_look):
                    task = await ended.get()
            except TimeoutError:
                with contextlib.suppress(OSError):  # out of descriptors: retry at the next poll
                    notice(first=False)
                next_look = loop.time() + poll_new
            else:
                yield task
    finally:
        left = list(jobs)
        for job in left:
            job.cancel()
        await asyncio.gather(*left, return_exceptions=True)


def _new(store: str, known: set[str]) -> list[Task]:
    """Return the readable tasks of the store whose ids are not in `known`."""
    fd = open_store(store)
    if fd is None:
        return []
    try:
        names = [name for name in names_in(fd) if is_id(name) and name not in known]
        return [task for name in names if (task := read_task(store, fd, name)) is not None]
    finally:
        os.close(fd)
