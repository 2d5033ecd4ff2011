"""Stores sessions between invocations: loads the state by name, and saves it after the run.

A session is a JSON file that only its user can read, replaced atomically, and a lock that serialises calls. A file that
cannot be read or parsed is never overwritten.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from nacre.base.system import state_directory
from nacre.cli.common.messages import notice
from nacre.errors import InvalidRequest
from nacre.planning.paths import current_directory

_VERSION = 1
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


class StoredSession:
    """State of one session. A new one has the `cwd` None and no changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.cwd: str | None = None
        self.workspace = ""
        """Directory where the session started: the one that may be written, wherever its commands have changed to."""
        self.env_changes: dict[str, str | None] = {}
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            self.workspace = current_directory()
            return
        except OSError as error:
            raise _save_error(path.parent, error) from error
        try:
            state = json.loads(text)
            cwd, changes = state["cwd"], state["changes"]
            workspace = state["workspace"] if "workspace" in state else current_directory()  # older files have none
            good = state["version"] == _VERSION and all(map(_is_path, (cwd, workspace))) and _are_changes(changes)
        except (ValueError, TypeError, KeyError):
            good = False
        if not good:
            raise InvalidRequest(
                "bad_session",
                f"The session file {path} is invalid; it was not changed.",
                field="session",
                hint="Fix it, or move it away to start a new session.",
            )
        self.cwd = cwd
        self.workspace = workspace
        self.env_changes = changes

    def save(self, cwd: str, changes: Mapping[str, str | None]) -> None:
        """Replace the file atomically. Raise InvalidRequest if that fails."""
        state = {"version": _VERSION, "cwd": cwd, "workspace": self.workspace, "changes": dict(changes)}
        text = json.dumps(state, indent=1) + "\n"
        draft = self._path.with_suffix(".new")  # one name suffices: we hold the lock
        try:
            draft.unlink(missing_ok=True)
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
                file.write(text)
            os.replace(draft, self._path)
        except OSError as error:
            raise _save_error(self._path.parent, error) from error


@contextlib.contextmanager
def locked_session(name: str, access: str, *, quiet: bool = False) -> Iterator[StoredSession]:
    """Lock the session and yield its stored state. Wait if another command holds the lock, with a notice unless
    `quiet`. Raise InvalidRequest if the name is invalid or the session cannot be stored.

    Each access mode has its own session: an unrestricted command would use what a sandboxed one exported.
    """
    if not _NAME.fullmatch(name):
        raise InvalidRequest(
            "bad_session_name",
            f"{name!r} is not a valid session name.",
            field="session",
            hint="Use up to 100 letters, digits, '_', '.' and '-', not beginning with '.' or '-'.",
        )
    directory = Path(state_directory()) / "sessions"
    file = name if access == "unrestricted" else f"{name}@{access}"
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        os.chmod(directory, 0o700)
        lock = os.open(directory / f"{file}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise _save_error(directory, error) from error
    try:
        _take(lock, name, quiet=quiet)
        yield StoredSession(directory / f"{file}.json")
    finally:
        os.close(lock)


def _take(lock: int, name: str, *, quiet: bool) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if not quiet:
            notice(f"waiting: session {name} is busy with another command")
        fcntl.flock(lock, fcntl.LOCK_EX)


def _save_error(directory: Path, error: OSError) -> InvalidRequest:
    return InvalidRequest(
        "session_not_kept",
        f"Cannot save the session in {directory}: {error.strerror}.",
        field="session",
        hint="Make that directory writable, or set XDG_STATE_HOME to one that is.",
    )


def _is_path(path: object) -> bool:
    return isinstance(path, str) and path.startswith("/") and "\0" not in path


def _are_changes(changes: object) -> bool:
    return isinstance(changes, dict) and all(
        name and not {"=", "\0"} & set(name) and (value is None or (isinstance(value, str) and "\0" not in value))
        for name, value in changes.items()
    )
