"""Following a task: yield its output as it is printed. The keeper reports when there is more, so there is no
polling."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from nacre.base.frozen import replace
from nacre.tasks.handle import TaskHandle
from nacre.tasks.store.directory import InvalidTaskDirectory
from nacre.tasks.store.log_reader import MAX_READ_BYTES, Output, read_output_async

_POLL_INTERVAL_S = 0.05


def _sleep_until_output() -> None: ...


async def follow(
    place: TaskHandle, since: int, limit: int = MAX_READ_BYTES, caught_up: Callable[[], None] = _sleep_until_output
) -> AsyncGenerator[Output, None]:
    """Yield the output from byte `since` on. The last item is of a task that no longer runs, and may be empty.

    `limit` bounds each item, in bytes. `caught_up` is called when all output so far was yielded, before each wait.
    FileNotFoundError, InvalidTaskDirectory: the task cannot be read; if that happens after the first read, the last
    item's task is `broken` instead.
    """
    output: Output | None = None
    refused = False
    while True:
        try:
            with place.open_directory() as folder:
                now = await read_output_async(folder, since, None, limit)
        except (FileNotFoundError, InvalidTaskDirectory):
            if output is None:
                raise
            task = replace(output.task, state="broken", outcome=None, idle=None, problem="it was removed")
            yield replace(output, task=task, data=b"", start=since, cursor=since, dropped=0, more=False)
            return
        alive = now.task.alive
        output = now
        if output.data or output.dropped or not (alive or output.more):
            yield output
        since = output.cursor
        if output.more:
            continue
        if not alive:
            return
        caught_up()
        if refused:  # alive, but its keeper did not answer: do not retry at once
            await asyncio.sleep(_POLL_INTERVAL_S)
        line = place.connect()
        if line is None:
            refused = True
            continue
        with line:
            refused = await line.watch(output.task.bytes) is None
