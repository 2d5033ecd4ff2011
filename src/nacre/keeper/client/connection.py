"""The host's connection to its keeper: start it on first use, reuse it, notice its death.

One keeper per process; a forked child gets its own. Everything here is synchronous, short and thread-safe.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import select
import signal
import sys
import threading
import time
import weakref
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from nacre.base import system
from nacre.base.shortages import SHORTAGE_HINTS
from nacre.base.temp_dir import is_free, is_own_directory, make_directory, new_name, temporary_directory
from nacre.errors import KeeperFailed, UnsupportedPlatform
from nacre.keeper.client.launch import check_machine, open_pidfd, spawn_keeper
from nacre.keeper.client.orphans import kill_orphans
from nacre.keeper.client.start_message import build_start_message, is_inline
from nacre.keeper.protocol.channel import Channel
from nacre.keeper.protocol.messages import REMOVE_DIRECTORY, environment_block
from nacre.keeper.protocol.proc_check import PROC_UNUSABLE
from nacre.keeper.protocol.procfs import is_exiting
from nacre.keeper.protocol.task_dir import PRIVATE_TMPDIR
from nacre.types import Plan

_COUNTER_BITS = 22


class TaskDirHandle(NamedTuple):
    """An open task directory."""

    task: str
    path: str
    fd: int
    stdin: int | None = None
    """Read end of the task's stdin, if that stays open."""
    protection: bytes = b""
    """See `StartMessage.protection`."""


class PendingRun(NamedTuple):
    """A run that was requested from a keeper."""

    keeper: KeeperConnection
    control: Channel
    """Channel on which the keeper reports on the run."""
    tag: int
    private: bytes = b""
    """Private directory of this run only. Its keeper removes it; if no keeper has it, this process does."""


class ForkAware(Protocol):
    def close_after_fork(self) -> None: ...


class KeeperConnection:
    """The host's end of one keeper process."""

    def __init__(self, predecessor: KeeperConnection | None = None) -> None:
        """Start a keeper. OSError: no resources for it."""
        self.identity = _identity()
        self.prefix = _random_prefix()
        """First tag of the range that this keeper's runs use."""
        self.dead = False
        self.stderr_tail = ""
        """Last line of a dead keeper's stderr: empty unless it had a bug or gave up."""
        self._status: int | None = None
        """Wait status, if this process reaped the keeper."""
        self.standby_enabled = system.LINUX
        """Whether shells may be started ahead. Elsewhere a shell has its tag from the start, in its environment."""
        self._count = 0
        self._environment: tuple[Mapping[str, str], bytes] = {}, b""
        """The last environment, decoded and encoded."""
        self._directory: str | None = None
        self._lock = threading.Lock()
        with contextlib.ExitStack() as undo:
            self._stderr = system.memory_file(b"")
            undo.callback(os.close, self._stderr)
            self.channel, theirs = Channel.pair()
            undo.callback(self.channel.close)
            with theirs:
                self.pid = spawn_keeper(theirs.fileno(), self._stderr)
            undo.pop_all()
        self._process = open_pidfd(self.pid)
        if predecessor is not None and predecessor.identity == self.identity:
            self._directory = predecessor._directory
            self._announce_directory()

    def __del__(self) -> None:
        """Close the channel when this process exits: Python warns of unclosed sockets (`python -X dev`)."""
        if hasattr(self, "channel"):  # missing if there was no descriptor for it
            self.channel.close()

    @property
    def last_tag(self) -> int:
        return self.prefix + (1 << _COUNTER_BITS) - 1

    @property
    def alive(self) -> bool:
        """Whether the other end of the socket is open and the process is not exiting."""
        poll = select.poll()
        with self._lock, contextlib.suppress(OSError, ValueError):  # another thread may close it
            poll.register(self.channel, 0)
            return not self.dead and not poll.poll(0) and not (system.LINUX and is_exiting(self.pid))
        return False

    @property
    def death_reason(self) -> str:
        """Description of how a dead keeper ended."""
        exited = self._status is not None and os.WIFEXITED(self._status)
        did = f"exited with {os.WEXITSTATUS(self._status or 0)}" if exited else "was killed"
        return f"nacre's keeper process {did}{': ' + self.stderr_tail if self.stderr_tail else ''}"

    def raise_if_unsupported(self) -> None:
        """Raise KeeperFailed if the keeper gave up because of this machine, as any other would."""
        if self.stderr_tail.startswith(PROC_UNUSABLE):
            raise KeeperFailed(self.stderr_tail.removeprefix(PROC_UNUSABLE))

    def start(self, plan: Plan, state: int | None, folder: TaskDirHandle | None = None) -> PendingRun:
        """Request a run. `folder`: it is a task from the start.

        BlockingIOError: the keeper is busy; try again shortly.
        """
        with contextlib.ExitStack() as undo:
            private = self._private_path(plan, folder) if plan.private_tmpdir else b""
            alone = private if plan.dedicated_keeper and folder is None else b""
            if alone:
                undo.callback(remove_empty, alone)  # a further request gets a new one
            control, tag = self._request_run(plan, state, folder, private)
            undo.pop_all()
            return PendingRun(self, control, tag, alone)

    def _request_run(
        self, plan: Plan, state: int | None, folder: TaskDirHandle | None, private: bytes
    ) -> tuple[Channel, int]:
        with self._lock, contextlib.ExitStack() as stack, contextlib.ExitStack() as undo:
            if self.dead:
                raise ConnectionResetError  # another thread has noticed the death
            self._count = (self._count + 1) % (1 << _COUNTER_BITS)
            # a tag outside the keeper's range: a run with a dedicated keeper survives this keeper
            tag = _random_prefix() if plan.dedicated_keeper else self.prefix + self._count
            control, theirs = Channel.pair()
            undo.callback(control.close)
            stack.enter_context(theirs)
            fds = [theirs.fileno()]
            for data in (None if is_inline(plan.text) else plan.text, plan.stdin):
                if data is not None:
                    fds.append(system.memory_file(data))
                    stack.callback(os.close, fds[-1])
            if folder is not None and folder.stdin is not None:
                fds.append(folder.stdin)
            fds += [fd for fd in (state, None if folder is None else folder.fd) if fd is not None]
            start = build_start_message(
                plan, folder, tag=tag, env=self._encode_env(plan.env), private=private, has_state=state is not None
            )
            start.standby_ok = start.standby_ok and self.standby_enabled
            try:
                if plan.lifetime != "background":
                    control.reserve(1 if plan.merge else 2)  # for its output: without them it must not start
                self.channel.send(start.message(), fds)
            except OSError as error:
                if error.errno == errno.ETOOMANYREFS:
                    raise BlockingIOError from error  # too many descriptors are in transit to the keeper
                raise
            undo.pop_all()
            return control, tag

    def _private_path(self, plan: Plan, folder: TaskDirHandle | None) -> bytes:
        """Return the directory in which its private TMPDIR is created; it must exist as long as the run."""
        if not plan.dedicated_keeper:
            return os.fsencode(self.private_directory())
        if folder is None:
            path = new_name()
            make_directory(path)
            return os.fsencode(path)
        path = os.path.join(folder.path, PRIVATE_TMPDIR)
        os.makedirs(path, mode=0o700, exist_ok=True)
        return os.fsencode(path)

    def _encode_env(self, env: Mapping[str, str]) -> bytes:
        """Return the encoded environment; encode it only if it differs from the last run's."""
        last, block = self._environment
        if last != env:
            block = environment_block(env)
            self._environment = env, block
        return block

    def private_directory(self) -> str:
        with self._lock:
            if self._directory is None or not is_own_directory(self._directory):
                if self._directory is None or not is_free(self._directory, temporary_directory()):
                    self._directory = new_name()
                    self._announce_directory()  # before it exists: this process may be killed at any moment
                make_directory(self._directory)
            return self._directory

    def _announce_directory(self) -> None:
        """Tell the keeper to remove the directory at its end."""
        if self._directory is not None:
            with contextlib.suppress(ConnectionError):  # the next keeper gets the message
                self._send_blocking(b"\0".join((REMOVE_DIRECTORY, os.fsencode(self._directory))))

    def _send_blocking(self, message: bytes) -> None:
        while True:
            try:
                return self.channel.send(message)
            except BlockingIOError:
                self.resume()
                poll = select.poll()
                poll.register(self.channel, select.POLLOUT)
                poll.poll(1000)

    def handle_death(self) -> None:
        """Kill the keeper if it is not dead, reap it, and kill its runs. Synchronous: a caller that awaited this could
        be cancelled, and nothing would finish it."""
        with self._lock:
            if self.dead:
                return
            self.dead = True
            self.channel.close()
            text = os.pread(self._stderr, 64 * 1024, 0).decode("utf-8", "replace").strip()
            self.stderr_tail = text.splitlines()[-1] if text else ""
            os.close(self._stderr)
        self._signal(signal.SIGKILL)
        self._reap(bound=1.0)
        kill_orphans(self.prefix, self.last_tag)

    def resume(self) -> None:
        """Send SIGCONT: another process may have stopped the keeper."""
        if not self.dead:
            self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        """Use the pidfd if there is one: if the host reaps all children, the PID may belong to another process by
        now."""
        with contextlib.suppress(OSError):
            if self._process is not None:
                signal.pidfd_send_signal(self._process, number)
            elif os.waitpid(self.pid, os.WNOHANG) == (0, 0):
                os.kill(self.pid, number)

    def _reap(self, bound: float) -> bool:
        until = time.monotonic() + bound
        try:
            while (reaped := os.waitpid(self.pid, os.WNOHANG)) == (0, 0):
                if time.monotonic() >= until:
                    return False
                time.sleep(0.002)
            self._status = reaped[1]
        except ChildProcessError:
            pass  # reaped elsewhere in the host
        if self._process is not None:
            os.close(self._process)
            self._process = None
        return True

    def shut_down(self, bound: float = 10.0) -> None:
        """Close the channel and wait until the keeper has killed its runs and exited, at most `bound` seconds."""
        with self._lock:
            if self.dead:
                return
            self.dead = True
            self.channel.close()
            os.close(self._stderr)
        self._signal(signal.SIGCONT)
        if not self._reap(bound):
            _stopping.append(self)

    def close_after_fork(self) -> None:
        """In a forked child: close the parent's descriptors without sending anything to the keeper."""
        self.channel.close()
        os.close(self._stderr)
        if self._process is not None:
            os.close(self._process)


def _random_prefix() -> int:
    return int.from_bytes(os.urandom(4), "big") << _COUNTER_BITS


def _identity() -> tuple[int, int]:
    return os.geteuid(), os.getegid()


def remove_empty(path: bytes) -> None:
    with contextlib.suppress(OSError):
        os.rmdir(path)


_lock = threading.Lock()
_connection: KeeperConnection | None = None
_stopping: list[KeeperConnection] = []
"""Keepers that were shut down and may not have exited yet."""
_runs: weakref.WeakSet[ForkAware] = weakref.WeakSet()
"""Runs in progress, whose descriptors a forked child must close."""


def keeper_connection() -> KeeperConnection:
    """Return this process's keeper; start it if necessary."""
    global _connection
    current = _connection
    if current is not None and not current.dead and current.identity == _identity():
        return current
    with _lock:
        if _connection is not None and _connection.identity != _identity():
            _connection.shut_down(bound=0)  # this process has changed its user or group: so must its commands
        if _connection is None or _connection.dead:
            if not system.SUPPORTED:
                raise UnsupportedPlatform(f"nacre runs on Linux, and on macOS untested; this is {sys.platform}.")
            check_machine()
            _stopping[:] = [keeper for keeper in _stopping if not keeper._reap(bound=0)]
            try:
                _connection = KeeperConnection(predecessor=_connection)
            except OSError as error:
                number = error.errno or 0
                remedy = SHORTAGE_HINTS.get(number) or getattr(error, "hint", "")
                message = f"nacre's keeper could not be started: {error.strerror}. {remedy}"
                raise KeeperFailed(message.rstrip(), number if number in SHORTAGE_HINTS else 0) from error
        return _connection


def private_directory() -> str:
    """Return a directory for files that the keeper removes when this process exits or is killed."""
    return keeper_connection().private_directory()


def is_in_private_directory(path: str) -> bool:
    """Return whether the path is, or was, in this process's private directory."""
    return (
        _connection is not None
        and _connection._directory is not None
        and path.startswith(_connection._directory + os.sep)
    )


def _clean_up_at_exit() -> None:
    """Do the clean-up that a dead keeper cannot do: kill its runs, remove its directory."""
    if _connection is None or (
        _connection.alive and not _connection._reap(bound=0)
    ):  # a child that it was starting may hold its socket open
        return
    _connection.handle_death()
    if _connection._directory is not None:
        import shutil

        shutil.rmtree(_connection._directory, ignore_errors=True)


atexit.register(_clean_up_at_exit)


def register_run(run: ForkAware) -> None:
    _runs.add(run)


def _after_fork() -> None:
    global _connection, _lock, _runs
    _lock = threading.Lock()
    held: list[ForkAware] = [*_runs]
    if _connection is not None and not _connection.dead:
        held.append(_connection)
    _connection = None
    _runs = weakref.WeakSet()
    for item in held:
        item.close_after_fork()


os.register_at_fork(after_in_child=_after_fork)
