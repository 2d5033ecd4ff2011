"""The spare: a shell started ahead, waiting at its gate for the next command that fits it.

An agent's commands come one after another with the same directory and environment; all they differ in is the text,
and that comes through the gate anyway. Starting bash is most of what a command costs. At most one spare, never with
what a caller passed for one call only, given up after `PATIENCE` seconds, when its directory is no longer
what the path leads to, when something that is open or closed to it has been replaced, or when it has died.
"""

from __future__ import annotations

import os
import signal
import time

from nacre.keeper.spawn import Shell, place, spawn
from nacre.keeper.wire import Start

TYPE_CHECKING = False  # see wire.py
if TYPE_CHECKING:
    from nacre.sandbox.confinement import Confinement

PATIENCE = 60.0


class Spare:
    __slots__ = ("_closed", "_like", "_shell", "_until", "pids")

    def __init__(self) -> None:
        self._shell: Shell | None = None
        self._like: Start | None = None
        self._until = 0.0
        self._closed: dict[bytes, tuple[int, ...]] = {}
        """What is open or closed to it, as it was before."""
        self.pids: set[int] = set()
        """Spares that are alive: the one in waiting, and those dismissed."""

    def prepare(
        self, like: Start, env: dict[bytes, bytes], files: tuple[int, int], confinement: Confinement | None
    ) -> None:
        """Start one that fits commands like this one."""
        self._until = time.monotonic() + PATIENCE
        if self._shell is not None and self._fits(like):
            return
        self.dismiss()
        self._closed = {} if confinement is None else _marks(confinement)
        try:
            self._shell = spawn(like, env, files, confinement=confinement)
        except OSError:
            return  # the command itself will say what is wrong
        self._like = like
        self.pids.add(self._shell.pid)

    def take(self, start: Start) -> Shell | None:
        """The spare, if it fits."""
        shell = self._shell
        if shell is None or not self._fits(start):
            return None
        replaced = any(_mark(path)[: len(mark)] != mark for path, mark in self._closed.items())
        if replaced or not _is_well(shell) or not _stands_in(shell, start.cwd):
            self.dismiss()
            os.kill(shell.pid, signal.SIGKILL)  # a stopped one would not see that its gate is closed
            return None
        self._shell = None
        self.pids.discard(shell.pid)
        return shell

    def _fits(self, start: Start) -> bool:
        like = self._like
        return (
            like is not None
            and start.reusable
            and start.cwd == like.cwd
            and start.env == like.env
            and start.merge == like.merge
            and start.waits == like.waits
            and start.bash == like.bash
            and start.confinement == like.confinement
        )

    def died(self, pid: int) -> bool:
        """Whether it was one of ours."""
        if pid not in self.pids:
            return False
        self.pids.discard(pid)
        if self._shell is not None and self._shell.pid == pid:
            self.dismiss()
        return True

    def due(self) -> float | None:
        """When to give it up."""
        return None if self._shell is None else self._until

    def expire(self) -> None:
        if self._shell is not None and time.monotonic() >= self._until:
            self.dismiss()

    def dismiss(self) -> None:
        if self._shell is not None:
            self._shell.dismiss()
            self._shell = None


def _marks(confinement: Confinement) -> dict[bytes, tuple[int, ...]]:
    """Of what is opened to it, which file it is; of what is closed, whether it has changed since."""
    found = {path: _mark(path)[:2] for _, path in confinement.grants if not path.startswith(b"/dev/")}
    return found | {path: _mark(path) for kind, path in confinement.mounts if kind in (b"close", b"hide")}


def _mark(path: bytes) -> tuple[int, ...]:
    """Tells one file from another that takes its place, with its number perhaps."""
    try:
        stat = os.stat(path, follow_symlinks=False)
    except OSError:
        return -1, -1, -1
    return stat.st_dev, stat.st_ino, stat.st_ctime_ns


def _is_well(shell: Shell) -> bool:
    """Neither dead nor stopped. Its end, if that is what it is, stays to be reaped."""
    try:
        return os.waitid(os.P_PID, shell.pid, os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False


def _stands_in(shell: Shell, cwd: bytes) -> bool:
    try:
        return place(cwd) == shell.directory
    except OSError:
        return False
