"""The store of tasks, and the creation of task directories. Existing entries are never followed or trusted.

A store is a directory with one directory for each task, and `.live` with one name for each task that has not ended.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from typing import Any

from nacre.base.system import state_directory
from nacre.errors import InvalidRequest
from nacre.keeper.protocol.task_dir import (
    COMMAND,
    CONTROL,
    LIVE,
    LOG,
    NOTES,
    PRIVATE_TMPDIR,
    PROCESS,
    PROTECTION,
    RESERVED,
    STDIN,
    TASK,
    VERSION,
)

_MAX_COMMAND_CHARS = 10_000
"""Characters of a command in `task.json`; a longer one is also saved in full, in `command.txt`."""
_STATUS_RESERVE_BYTES = 4096
"""Bytes reserved for the status file at creation, so that it can be written on a full disk."""
KEEP_SECONDS, KEEP_BYTES, KEEP_TASKS = 7 * 24 * 3600.0, 1024**3, 1000
"""Default limits of `clean` on finished tasks: age in seconds, total bytes, number."""
_STORE = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Does not follow a symbolic link, which a command may have put in the store's place."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def default_directory() -> str:
    """Return the default store: `tasks` in the user's state directory."""
    return os.path.join(state_directory(), "tasks")


def live_names(store: str) -> list[str]:
    """Return the ids recorded as not ended; some of them may be lost."""
    try:
        return os.listdir(os.path.join(store, LIVE))
    except OSError:
        return []


def create(store: str, facts: Mapping[str, Any], *, stdin: bool = False, protection: bytes = b"") -> tuple[str, str]:
    """Create a task's directory, with its request and space reserved for its status. Return its id and path.

    `facts` go into task.json. `stdin`: create a FIFO for standard input. `protection`: snapshot that the keeper
    compares at the end. OSError: it cannot be written; the directory is removed.
    """
    name, directory = _new_directory(store)
    try:
        _mark_live(store, name)
        rows = {"version": VERSION, "id": name, **facts}
        command = str(facts["command"])
        if len(command) > _MAX_COMMAND_CHARS:
            rows["command"] = f"{command[:_MAX_COMMAND_CHARS]}… [all of it is in {COMMAND}]"
            _write(os.path.join(directory, COMMAND), command.encode("utf-8", "surrogateescape"))
        text = "{\n" + ",\n".join(f' "{key}": {json.dumps(value)}' for key, value in rows.items()) + "\n}"
        _write(os.path.join(directory, RESERVED), b" " * (_STATUS_RESERVE_BYTES - 1) + b"\n")
        _write(os.path.join(directory, LOG), b"")
        if protection:
            _write(os.path.join(directory, PROTECTION), protection)
        if stdin:
            os.mkfifo(os.path.join(directory, STDIN), 0o600)
        draft = os.path.join(directory, f"{TASK}.new")
        _write(draft, text.encode() + b"\n")
        os.rename(draft, os.path.join(directory, TASK))
    except OSError:
        discard(directory)
        raise
    return name, directory


def _new_directory(store: str) -> tuple[str, str]:
    while True:
        name = f"bash-{os.urandom(4).hex()}"
        try:
            fd = os.open(store, _STORE)
        except FileNotFoundError:
            _make_private(os.path.join(store, LIVE))
            continue
        try:
            os.mkdir(name, 0o700, dir_fd=fd)
            return name, os.path.join(store, name)
        except FileExistsError:
            continue
        finally:
            os.close(fd)


def has_process_file(directory: str) -> bool:
    """Return whether process.json was written, which names the task's processes."""
    return os.path.lexists(os.path.join(directory, PROCESS))


def discard(directory: str) -> None:
    """Remove the directory of a task that did not start. Uses paths, which need no descriptor: there may be none
    left."""
    store, name = os.path.split(directory)
    files = (TASK, f"{TASK}.new", COMMAND, RESERVED, LOG, STDIN, PROTECTION, NOTES, PROCESS, f"{PROCESS}.new", CONTROL)
    for each in (*files, *_links(directory)):
        _unlink(os.path.join(directory, each))
    _unlink(os.path.join(store, LIVE, name))
    for each in (os.path.join(directory, PRIVATE_TMPDIR), directory):
        with contextlib.suppress(OSError):  # other files are there: the next clean handles them
            os.rmdir(each)


def _links(directory: str) -> list[str]:
    """Return the symbolic links in the directory: further names of its log."""
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        return [entry.name for entry in entries if entry.is_symlink()]
    return []


def store_error(store: str, error: OSError) -> InvalidRequest:
    """Return the error for a task directory that cannot be written."""
    return InvalidRequest(
        "task_not_kept",
        f"Cannot create a task in {store}: {error.strerror}.",
        field="output_dir",
        hint="Free space there, or set another directory: ToolContext(output_dir=…), or XDG_STATE_HOME.",
    )


def _make_private(path: str) -> None:
    """Create a directory and its parents with mode 0700; existing ones are not changed."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return
    except FileNotFoundError:
        _make_private(os.path.dirname(path))
        with contextlib.suppress(FileExistsError):  # another process created it first
            os.mkdir(path, 0o700)


def _mark_live(store: str, name: str) -> None:
    try:
        os.close(os.open(os.path.join(store, LIVE, name), _NEW, 0o600))
    except FileNotFoundError:  # the first task of this store
        _make_private(os.path.join(store, LIVE))
        os.close(os.open(os.path.join(store, LIVE, name), _NEW, 0o600))


def _unlink(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _write(path: str, data: bytes) -> None:
    fd = os.open(path, _NEW, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
    finally:
        os.close(fd)
