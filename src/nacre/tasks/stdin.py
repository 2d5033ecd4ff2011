"""Writing to a task's standard input: a FIFO, open as long as the task reads it."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from typing import NoReturn

from nacre.errors import InvalidRequest
from nacre.keeper.protocol.task_dir import STDIN
from nacre.tasks.handle import TaskHandle
from nacre.tasks.store.directory import InvalidTaskDirectory

_PIPE = os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_POLL_INTERVAL_S = 0.02
_MAX_WRITE_BYTES = 64 * 1024


async def write(place: TaskHandle, data: bytes) -> None:
    """Write `data`; return when the pipe has taken all of it. InvalidRequest: the task does not, or no longer, read
    it."""
    fd = await _open(place)
    loop = asyncio.get_running_loop()
    view = memoryview(data)
    try:
        while view:
            try:
                view = view[os.write(fd, view[:_MAX_WRITE_BYTES]) :]
            except BlockingIOError:
                room = loop.create_future()
                loop.add_writer(fd, _settle, room)
                try:
                    await room
                finally:
                    loop.remove_writer(fd)
            except BrokenPipeError:
                _refuse(place, f"It closed its standard input after {len(data) - len(view)} bytes.")
    finally:
        os.close(fd)


async def close_stdin(place: TaskHandle, *, may_have_ended: bool = False) -> None:
    """Close the task's standard input: it reads EOF after the remaining data. InvalidRequest: it is not open.
    `may_have_ended`: no error if the task has ended, as the data written may have been all it needed."""
    while True:
        task = place.read()
        if may_have_ended and not task.alive:
            return
        if not task.alive or not task.stdin:
            _refuse(place, "")
        if (line := place.connect(to_wait=False)) is not None:
            with line:
                if await line.close_stdin():
                    return
        await asyncio.sleep(_POLL_INTERVAL_S)


def _settle(room: asyncio.Future[None]) -> None:
    if not room.done():
        room.set_result(None)


async def _open(place: TaskHandle) -> int:
    while True:
        task = place.read()
        if not task.alive or not task.stdin:
            _refuse(place, "")
        try:
            with place.open_directory() as folder:
                fd = os.open(STDIN, _PIPE, dir_fd=folder.fd)
            status = os.fstat(fd)
            if stat.S_ISFIFO(status.st_mode) and status.st_uid == os.geteuid():
                return fd
            os.close(fd)
            raise InvalidTaskDirectory(f"{STDIN} is not a pipe")
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise
            if task.pid is not None:  # if there is no PID yet, the task has not opened it yet
                _refuse(place, "It has closed its standard input.")
        except InvalidTaskDirectory:
            _refuse(place, "Its standard input is not nacre's pipe.")
        await asyncio.sleep(_POLL_INTERVAL_S)


def _refuse(place: TaskHandle, why: str) -> NoReturn:
    task = place.read()
    if not task.alive:
        raise InvalidRequest(
            "task_ended",
            f"{task.id} is no longer running: {task.summary}.",
            field="task",
            hint="Start it again; its output can still be read.",
        )
    raise InvalidRequest(
        "stdin_not_open",
        f"Cannot write to {task.id}. {why or 'It was started without an open standard input.'}",
        field="task",
        hint="Start the command with open_stdin, or pass its input at the start.",
    )
