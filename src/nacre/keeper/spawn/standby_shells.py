"""Standby shells: started ahead, and waiting for the next command that matches.

An agent's commands come one after another with the same directory and environment. They differ only in the script,
which comes through the start pipe anyway, and starting bash is most of a command's cost. There is one standby shell. It
never has what a caller passed for one call only. It is discarded after `IDLE_TIMEOUT_S` seconds, when the path of its
directory leads elsewhere, when a file that its sandbox opens or closes was replaced, when its private directory was
removed, or when it has died.

Commands that come without a pause would find it still starting: while they do, there are two.
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque

from nacre.keeper.protocol.messages import StartMessage
from nacre.keeper.spawn.shell import Shell, device_and_inode
from nacre.keeper.spawn.spawner import ShellSpawner

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from collections.abc import Callable

    from nacre.sandbox.kernel.ruleset import Ruleset

IDLE_TIMEOUT_S = 60.0
_SHELL_READY_AFTER_S = 0.01
"""Seconds. A shell that is taken sooner may not have been ready, or would not be ready if there were only one."""
EXTRA_TIMEOUT_S = 1.0
"""Seconds after the last command until the second shell is discarded."""


class StandbyShells:
    """The pool of standby shells, all for the same start message."""

    __slots__ = (
        "_closed",
        "_last_request_at",
        "_on_exit_of",
        "_shells",
        "_spawner",
        "_start_message",
        "_wanted",
        "pids",
    )

    def __init__(self, spawner: ShellSpawner, on_exit_of: dict[int, Callable[[int], None]]) -> None:
        """`on_exit_of`: by PID, the function that is called with the wait status of a child."""
        self._spawner = spawner
        self._on_exit_of = on_exit_of
        self._shells: deque[tuple[Shell, float]] = deque()
        """Shells with their start times, oldest first."""
        self._wanted = 1
        self._start_message: StartMessage | None = None
        self._last_request_at = 0.0
        """Time at which one was last needed."""
        self._closed: dict[bytes, tuple[int, ...]] = {}
        """Identities of the files that its sandbox opens or closes, as they were before."""
        self.pids: set[int] = set()
        """PIDs of standby shells that are alive: waiting or discarded."""

    def prepare(self, like: StartMessage) -> None:
        """Start shells for commands like this one. OSError: one could not be started."""
        self._last_request_at = time.monotonic()
        if not self._shells or not self._matches(like):
            self.discard_all()
            ruleset = self._spawner.decode_ruleset(like)
            self._closed = {} if ruleset is None else _path_identities(ruleset)
            self._start_message = like
        while len(self._shells) < self._wanted:
            shell = self._spawner.spawn(like)
            self._shells.append((shell, time.monotonic()))
            self._watch(shell.pid)

    def _watch(self, pid: int) -> None:
        self.pids.add(pid)
        self._on_exit_of[pid] = lambda _: self._on_exit(pid)

    def take(self, start: StartMessage) -> Shell | None:
        """Return a standby shell if one matches."""
        if not self._shells or not self._matches(start):
            return None
        shell, born = self._shells[0]
        self._wanted = 2 if time.monotonic() - born < _SHELL_READY_AFTER_S else 1
        replaced = any(_path_identity(path)[: len(mark)] != mark for path, mark in self._closed.items())
        if replaced or not (_is_running(shell) and _cwd_matches(shell, start.cwd) and _has_private_tmpdir(shell)):
            self.discard_all()
            return None
        self._shells.popleft()
        self.pids.discard(shell.pid)
        del self._on_exit_of[shell.pid]
        return shell

    def _matches(self, start: StartMessage) -> bool:
        like = self._start_message
        return (
            like is not None
            and start.standby_ok
            and start.cwd == like.cwd
            and start.env == like.env
            and start.merge == like.merge
            and start.wait_for_jobs == like.wait_for_jobs
            and start.bash == like.bash
            and start.ruleset == like.ruleset
        )

    def _on_exit(self, pid: int) -> None:
        self.pids.discard(pid)
        for each in [each for each in self._shells if each[0].pid == pid]:
            self._shells.remove(each)
            each[0].discard()

    def next_expiry(self) -> float | None:
        """Return the time at which a shell is to be discarded."""
        if not self._shells:
            return None
        return self._last_request_at + (IDLE_TIMEOUT_S if len(self._shells) == 1 else EXTRA_TIMEOUT_S)

    def expire(self) -> None:
        due = self.next_expiry()
        if due is not None and time.monotonic() >= due:
            self._discard_youngest()

    def discard_all(self) -> None:
        while self._shells:
            self._discard_youngest()

    def _discard_youngest(self) -> None:
        shell, _ = self._shells.pop()
        shell.kill()


def _path_identities(ruleset: Ruleset) -> dict[bytes, tuple[int, ...]]:
    """Return the identity of each path in the ruleset: which file it is, and for closed ones also the time of
    change."""
    found = {path: _path_identity(path)[:2] for _, path in ruleset.grants if not path.startswith(b"/dev/")}
    return found | {path: _path_identity(path) for kind, path in ruleset.mounts if kind in (b"close", b"hide")}


def _path_identity(path: bytes) -> tuple[int, ...]:
    """Return what distinguishes a file from another that replaces it, even with the same inode number."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return -1, -1, -1
    return found.st_dev, found.st_ino, found.st_ctime_ns


def _is_running(shell: Shell) -> bool:
    """Return whether the shell is neither dead nor stopped. If it is dead, it stays to be reaped."""
    try:
        return os.waitid(os.P_PID, shell.pid, os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False


def _cwd_matches(shell: Shell, cwd: bytes) -> bool:
    try:
        return device_and_inode(cwd) == shell.directory
    except OSError:
        return False


def _has_private_tmpdir(shell: Shell) -> bool:
    """Return whether its private TMPDIR still exists, if it has one. The name is never used twice."""
    if not shell.private_tmpdir:
        return True
    try:
        return stat.S_ISDIR(os.stat(shell.private_tmpdir, follow_symlinks=False).st_mode)
    except OSError:
        return False
