"""The audit trail: one line of JSON is appended to a file for each run that has ended.

Each line is written at once, by one append, so that processes can share a file. A full file is renamed to `.1`, that
one to `.2`, and the oldest is removed. If renaming fails, the full file is appended to: too long is better than lost. A
line that cannot be written affects no run: it is counted and logged once, and the next line that can be written reports
how many are missing before it.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import threading
from datetime import UTC, datetime
from functools import cache
from typing import Any

from nacre.base.system import require_free_space, state_directory
from nacre.errors import InvalidRequest
from nacre.observe.events import Observed, RunEnded
from nacre.types import MIB, StrPath

VARIABLE = "NACRE_AUDIT"
VERSION = 1
_OPEN = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def default_path() -> str:
    """Return the path in the user's state directory, which no sandboxed command can write to."""
    return os.path.join(state_directory(), "audit.jsonl")


class Audit:
    """An observer that writes an audit trail. One instance serves any number of threads; processes may share its
    file."""

    def __init__(self, path: StrPath | None = None, *, max_bytes: int = 16 * MIB, keep: int = 4) -> None:
        """Create an audit trail. `max_bytes`: size limit of one file. `keep`: number of full files kept in addition to
        the current one."""
        if max_bytes < 1 or keep < 0:
            raise ValueError(f"max_bytes must be at least 1, and keep at least 0, not {max_bytes} and {keep}")
        self.path = os.path.abspath(default_path() if path is None else path)
        self._max, self._keep = max_bytes, keep
        self._lock, self._process = threading.Lock(), os.getpid()
        self._missing = 0
        self._stuck = False
        """True if the full file could not be renamed and is appended to."""
        self.lost = 0
        """Number of runs that were not recorded since this was created."""
        self.problem = ""
        """The reason why the last run was not recorded; empty if it was."""

    def __call__(self, event: Observed) -> None:
        if isinstance(event, RunEnded):
            self.append(event.time, event.to_dict())

    def append(self, time: float, data: dict[str, Any]) -> None:
        """Write one line that begins with the time and the identity of this process. Nothing is masked here."""
        self._append_record({**_process_identity(time), **data})

    def __repr__(self) -> str:
        return f"Audit({self.path!r})"

    def _append_record(self, record: dict[str, Any]) -> None:
        if self._process != os.getpid():  # forked, perhaps while another thread was writing
            self._lock, self._process = threading.Lock(), os.getpid()
        with self._lock:
            if self._missing:
                record["missing"] = self._missing
            line = json.dumps(record, ensure_ascii=True, separators=(",", ":"), default=str).encode() + b"\n"
            try:
                self._append(line)
            except OSError as error:
                told = bool(self.problem)
                self.lost += 1
                self._missing += 1
                self.problem = error.strerror or str(error)
                if not told:
                    _warn("Cannot write the audit trail %s: %s", self.path, self.problem)
            else:
                self._missing, self.problem = 0, ""

    def _append(self, line: bytes) -> None:
        fd = self._open_file()
        try:
            size = os.fstat(fd).st_size
            if size and size + len(line) > self._max and self._rotate(fd):
                os.close(fd)
                fd = -1
                fd = self._open_file()
                size = os.fstat(fd).st_size
            require_free_space(fd, len(line))
            if size and os.pread(fd, 1, size - 1) != b"\n":  # the disk became full in the middle of a line
                line = b"\n" + line
            if os.write(fd, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            if fd >= 0:
                os.close(fd)

    def _open_file(self) -> int:
        try:
            fd = os.open(self.path, _OPEN, 0o600)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            fd = os.open(self.path, _OPEN, 0o600)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(errno.EINVAL, "Not a regular file")
        return fd

    def _rotate(self, fd: int) -> bool:
        """Return true if another file is at the path now. The process that gets the lock rotates; the others keep
        writing meanwhile."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        if not self._is_at_path(fd):
            return True
        try:
            self._rotate_files()
        except OSError as error:  # permission to write to a file does not include permission to rename it
            if not self._stuck:
                _warn("The audit trail %s is full and cannot be moved: %s", self.path, error.strerror)
            self._stuck = True
            return False
        self._stuck = False
        return True

    def _rotate_files(self) -> None:
        if not self._keep:
            os.unlink(self.path)
            return
        for number in range(self._keep - 1, 0, -1):
            if os.path.lexists(f"{self.path}.{number}"):
                os.replace(f"{self.path}.{number}", f"{self.path}.{number + 1}")
        os.replace(self.path, f"{self.path}.1")

    def _is_at_path(self, fd: int) -> bool:
        try:
            there = os.stat(self.path, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(fd))


def audit_at(wanted: object) -> Audit | None:
    """Return the trail for the setting `audit`: None, the default path (True), or a given path. Equal settings share
    one."""
    if not wanted:
        return None
    return _shared_audit(wanted if isinstance(wanted, str) else default_path())


def from_environment() -> Audit | None:
    """Return the trail for `NACRE_AUDIT`: None, the default path (`1`), or an absolute path. Raise InvalidRequest
    otherwise."""
    wanted = os.environ.get(VARIABLE, "")
    if wanted.lower() in ("", "0", "off", "false", "no"):
        return None
    if wanted.lower() in ("1", "on", "true", "yes"):
        return audit_at(True)
    if not os.path.isabs(wanted):
        raise InvalidRequest(
            "bad_audit",
            f"{VARIABLE} is {wanted!r}.",
            field=VARIABLE,
            hint="Give an absolute path, 1 for the default, or 0 for none.",
        )
    return audit_at(wanted)


@cache
def _shared_audit(path: str) -> Audit:
    return Audit(path)


def _process_identity(now: float) -> dict[str, Any]:
    uid = os.geteuid()
    time = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"v": VERSION, "time": time, "host_pid": os.getpid(), "uid": uid, "user": _name(uid)}


@cache
def _name(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return ""


def _warn(message: str, *about: object) -> None:
    import logging  # imported here because a hook that writes a line need not load it

    logging.getLogger("nacre.audit").warning(message, *about)
