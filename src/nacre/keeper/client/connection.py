"""The host's side of the keeper: starts it on first use, finds it again, notices its death.

One keeper per process; a forked child gets its own. Everything here is synchronous, short, and safe from any thread.
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
from nacre.base.temp_dir import is_free, is_own_directory, make_directory, new_name, temporary_directory
from nacre.errors import KeeperFailed, UnsupportedPlatform
from nacre.keeper.client.launch import check_machine, open_pidfd, spawn_keeper
from nacre.keeper.client.orphans import kill_orphans
from nacre.keeper.protocol.bootstrap import INLINE_COMMAND_MAX_BYTES
from nacre.keeper.protocol.channel import Channel
from nacre.keeper.protocol.messages import REMOVE_DIRECTORY, StartMessage, environment_block, environment_names
from nacre.keeper.protocol.proc_check import PROC_UNUSABLE
from nacre.keeper.protocol.procfs import is_exiting
from nacre.keeper.protocol.shortages import SHORTAGE_HINTS
from nacre.keeper.protocol.task_dir import PRIVATE_TMPDIR
from nacre.types import Plan

_COUNTER_BITS = 22


class TaskDirHandle(NamedTuple):
    """A task's directory, open."""

    task: str
    path: str
    fd: int
    stdin: int | None = None
    """Its standard input, if that is to stay open."""
    protection: bytes = b""
    """See `StartMessage.protection`."""


class PendingRun(NamedTuple):
    """A run that a keeper has been asked for."""

    keeper: KeeperConnection
    control: Channel
    """Which tells the rest."""
    tag: int
    private: bytes = b""
    """A directory that was made for it alone. Its keeper has it now, and removes it; this process, if there is none."""


class ForkAware(Protocol):
    def close_after_fork(self) -> None: ...


class KeeperConnection:
    """The host's end of one keeper process."""

    def __init__(self, predecessor: KeeperConnection | None = None) -> None:
        """OSError: this process lacks something for it."""
        self.identity = _identity()
        self.prefix = _random_prefix()
        """The first of the tags that this keeper's runs carry."""
        self.dead = False
        self.stderr_tail = ""
        """What a dead keeper had written to its stderr: nothing, unless it had a bug."""
        self._status: int | None = None
        """How it ended, if this process was the one to be told."""
        self.standby_enabled = system.LINUX
        """Whether shells may be started ahead. Elsewhere a shell carries its tag from the start."""
        self._count = 0
        self._environment: tuple[Mapping[str, str], bytes] = {}, b""
        """The last one, in both forms."""
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
        """This process is ending. Python complains of a socket that it finds open then (`python -X dev`)."""
        if hasattr(self, "channel"):  # there was a descriptor for it
            self.channel.close()

    @property
    def last_tag(self) -> int:
        return self.prefix + (1 << _COUNTER_BITS) - 1

    @property
    def alive(self) -> bool:
        """Whether the other end of our socket is open, and not about to be closed."""
        poll = select.poll()
        with self._lock, contextlib.suppress(OSError, ValueError):  # another thread may be about to close it
            poll.register(self.channel, 0)
            return not self.dead and not poll.poll(0) and not (system.LINUX and is_exiting(self.pid))
        return False

    @property
    def death_reason(self) -> str:
        """What became of a dead one."""
        exited = self._status is not None and os.WIFEXITED(self._status)
        did = f"exited with {os.WEXITSTATUS(self._status or 0)}" if exited else "was killed"
        return f"nacre's keeper process {did}{': ' + self.stderr_tail if self.stderr_tail else ''}"

    def raise_if_unsupported(self) -> None:
        """KeeperFailed: it has given up because of this machine, as every other would."""
        if self.stderr_tail.startswith(PROC_UNUSABLE):
            raise KeeperFailed(self.stderr_tail.removeprefix(PROC_UNUSABLE))

    def start(self, plan: Plan, state: int | None, folder: TaskDirHandle | None = None) -> PendingRun:
        """Ask for a run. `folder`: it is a task from the start.

        BlockingIOError: the keeper is busy, ask again shortly.
        """
        with contextlib.ExitStack() as undo:
            confinement, private = plan.ruleset, b""
            if plan.private_tmpdir:
                private = self._private_path(plan, folder)
                confinement += b"\0scratch=" + private
            alone = private if plan.dedicated_keeper and folder is None else b""
            if alone:
                undo.callback(remove_empty, alone)  # asked for again, it gets another
            control, tag = self._request_run(plan, state, folder, confinement, private)
            undo.pop_all()
            return PendingRun(self, control, tag, alone)

    def _request_run(
        self, plan: Plan, state: int | None, folder: TaskDirHandle | None, confinement: bytes, private: bytes
    ) -> tuple[Channel, int]:
        with self._lock, contextlib.ExitStack() as stack, contextlib.ExitStack() as undo:
            if self.dead:
                raise ConnectionResetError  # another thread has found out
            self._count = (self._count + 1) % (1 << _COUNTER_BITS)
            # what has a keeper of its own is not to end with this one
            tag = _random_prefix() if plan.dedicated_keeper else self.prefix + self._count
            control, theirs = Channel.pair()
            undo.callback(control.close)
            stack.enter_context(theirs)
            fds = [theirs.fileno()]
            for data in (plan.text if len(plan.text) > INLINE_COMMAND_MAX_BYTES else None, plan.stdin):
                if data is not None:
                    fds.append(system.memory_file(data))
                    stack.callback(os.close, fds[-1])
            if folder is not None and folder.stdin is not None:
                fds.append(folder.stdin)
            fds += [fd for fd in (state, None if folder is None else folder.fd) if fd is not None]
            start = self._start(plan, tag, confinement, has_state=state is not None)
            if plan.dedicated_keeper:
                start.dedicated, start.private_dir = True, private
            if folder is not None:
                start.task, start.log_cap, start.protection = os.fsencode(folder.task), plan.log, folder.protection
                start.has_stdin = plan.stdin is not None or folder.stdin is not None
            try:
                if not plan.background:
                    control.reserve(1 if plan.merge else 2)  # for its output: it must not begin if that cannot be had
                self.channel.send(start.message(), fds)
            except OSError as error:
                if error.errno == errno.ETOOMANYREFS:
                    raise BlockingIOError from error  # too many descriptors on their way to the keeper
                raise
            undo.pop_all()
            return control, tag

    def _private_path(self, plan: Plan, folder: TaskDirHandle | None) -> bytes:
        """Where its private TMPDIR is made: it must not go before the run does."""
        if not plan.dedicated_keeper:
            return os.fsencode(self.private_directory())
        if folder is None:
            path = new_name()
            make_directory(path)
            return os.fsencode(path)
        path = os.path.join(folder.path, PRIVATE_TMPDIR)
        os.makedirs(path, mode=0o700, exist_ok=True)
        return os.fsencode(path)

    def _start(self, plan: Plan, tag: int, confinement: bytes, *, has_state: bool) -> StartMessage:
        env, block = self._environment
        if env != plan.env:
            block = environment_block(plan.env)
            self._environment = plan.env, block
        return StartMessage(
            tag=tag,
            timeout=plan.timeout,
            grace=plan.grace,
            merge=plan.merge,
            keep_leftovers=plan.leftovers == "keep",
            standby_ok=plan.standby_ok and self.standby_enabled,
            has_stdin=plan.stdin is not None,
            has_state=has_state,
            reports_state=plan.reports_state,
            report_pipestatus=has_state and bool(plan.pipeline_commands),
            wait_for_jobs=plan.wait_for_jobs,
            kill_script=plan.kill_script,
            bash=os.fsencode(plan.bash),
            cwd=os.fsencode(plan.cwd),
            text=plan.text if len(plan.text) <= INLINE_COMMAND_MAX_BYTES else None,
            env=block,
            deferred=environment_names(plan.deferred),
            ruleset=confinement,
        )

    def private_directory(self) -> str:
        with self._lock:
            if self._directory is None or not is_own_directory(self._directory):
                if self._directory is None or not is_free(self._directory, temporary_directory()):
                    self._directory = new_name()
                    self._announce_directory()  # before it is there: this process may be killed at any moment
                make_directory(self._directory)
            return self._directory

    def _announce_directory(self) -> None:
        """For the keeper to remove at the end."""
        if self._directory is not None:
            with contextlib.suppress(ConnectionError):  # then the next keeper will
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
        """It is dead, or must be: make sure, leave no zombie, and nothing of what it kept. Now: who waited for that may
        have been cancelled, and have nobody come back to it."""
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
        """Somebody may have stopped it."""
        if not self.dead:
            self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        """By its descriptor where there is one: its number may be another's by now, if this host reaps all children."""
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
            pass  # somebody else has
        if self._process is not None:
            os.close(self._process)
            self._process = None
        return True

    def shut_down(self, bound: float = 10.0) -> None:
        """Let it go, and wait until it has ended everything that it still keeps."""
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
        """In a forked child: let go of what belongs to the parent, without a word to the keeper."""
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
"""Dismissed and perhaps not gone yet."""
_runs: weakref.WeakSet[ForkAware] = weakref.WeakSet()
"""Runs in progress: a forked child must let go of their descriptors."""


def keeper_connection() -> KeeperConnection:
    """This process's keeper, started if need be."""
    global _connection
    current = _connection
    if current is not None and not current.dead and current.identity == _identity():
        return current
    with _lock:
        if _connection is not None and _connection.identity != _identity():
            _connection.shut_down(bound=0)  # this process has changed its user since: so must its commands
        if _connection is None or _connection.dead:
            if not system.SUPPORTED:
                raise UnsupportedPlatform(f"nacre runs on Linux, and untested on macOS; this is {sys.platform}.")
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
    """For files that go when this process does, however it ends: the keeper removes it."""
    return keeper_connection().private_directory()


def is_in_private_directory(path: str) -> bool:
    """Whether it is, or was, one of the files that go with this process."""
    return (
        _connection is not None
        and _connection._directory is not None
        and path.startswith(_connection._directory + os.sep)
    )


def _clean_up_at_exit() -> None:
    """A dead keeper neither ends nor removes anything."""
    if _connection is None or (
        _connection.alive and not _connection._reap(bound=0)
    ):  # what it was starting may hold its socket
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
