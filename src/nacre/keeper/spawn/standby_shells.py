"""The spare: a shell started ahead, waiting at its gate for the next command that fits it.

An agent's commands come one after another with the same directory and environment; all they differ in is the text,
and that comes through the gate anyway. Starting bash is most of what a command costs. One spare, never with
what a caller passed for one call only, given up after `PATIENCE` seconds, when its directory is no longer
what the path leads to, when something that is open or closed to it has been replaced, when somebody has tidied away its
private directory, or when it has died.

Commands that come without a pause would find it still starting: for as long as they do, there are two.
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque

from nacre.keeper.protocol.messages import Start
from nacre.keeper.spawn.shell import Shell, place, spawn

TYPE_CHECKING = False  # see wire.py
if TYPE_CHECKING:
    from nacre.sandbox.kernel.ruleset import Confinement

PATIENCE = 60.0
_PAUSE = 0.01
"""Seconds: a shell that is taken sooner may not have been ready, or would not have been if it were the only one."""
HURRY = 1.0
"""Seconds after the last command until the second one is given up."""


class Spare:
    __slots__ = ("_asked", "_closed", "_like", "_shells", "_wanted", "pids")

    def __init__(self) -> None:
        self._shells: deque[tuple[Shell, float]] = deque()
        """And when each was started, the oldest first. All alike."""
        self._wanted = 1
        self._like: Start | None = None
        self._asked = 0.0
        """When one was last wanted."""
        self._closed: dict[bytes, tuple[int, ...]] = {}
        """What is open or closed to it, as it was before."""
        self.pids: set[int] = set()
        """Spares that are alive: the one in waiting, and those dismissed."""

    def prepare(
        self, like: Start, env: dict[bytes, bytes], files: tuple[int, int], confinement: Confinement | None
    ) -> None:
        """Start what fits commands like this one. OSError: it could not be started."""
        self._asked = time.monotonic()
        if not self._shells or not self._fits(like):
            self.dismiss()
            self._closed = {} if confinement is None else _marks(confinement)
            self._like = like
        while len(self._shells) < self._wanted:
            shell = spawn(like, env, files, confinement=confinement)
            self._shells.append((shell, time.monotonic()))
            self.pids.add(shell.pid)

    def take(self, start: Start) -> Shell | None:
        """The spare, if it fits."""
        if not self._shells or not self._fits(start):
            return None
        shell, born = self._shells[0]
        self._wanted = 2 if time.monotonic() - born < _PAUSE else 1
        replaced = any(_mark(path)[: len(mark)] != mark for path, mark in self._closed.items())
        if replaced or not (_is_well(shell) and _stands_in(shell, start.cwd) and _has_scratch(shell)):
            self.dismiss()
            return None
        self._shells.popleft()
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
        for each in [each for each in self._shells if each[0].pid == pid]:
            self._shells.remove(each)
            each[0].dismiss()
        return True

    def due(self) -> float | None:
        """When to give one up."""
        if not self._shells:
            return None
        return self._asked + (PATIENCE if len(self._shells) == 1 else HURRY)

    def expire(self) -> None:
        due = self.due()
        if due is not None and time.monotonic() >= due:
            self._give_up()

    def dismiss(self) -> None:
        while self._shells:
            self._give_up()

    def _give_up(self) -> None:
        """The youngest."""
        shell, _ = self._shells.pop()
        shell.end()


def _marks(confinement: Confinement) -> dict[bytes, tuple[int, ...]]:
    """Of what is opened to it, which file it is; of what is closed, whether it has changed since."""
    found = {path: _mark(path)[:2] for _, path in confinement.grants if not path.startswith(b"/dev/")}
    return found | {path: _mark(path) for kind, path in confinement.mounts if kind in (b"close", b"hide")}


def _mark(path: bytes) -> tuple[int, ...]:
    """Tells one file from another that takes its place, with its number perhaps."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return -1, -1, -1
    return found.st_dev, found.st_ino, found.st_ctime_ns


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


def _has_scratch(shell: Shell) -> bool:
    """Its private directory is there, if it has one. No other ever has the same name."""
    if not shell.scratch:
        return True
    try:
        return stat.S_ISDIR(os.stat(shell.scratch, follow_symlinks=False).st_mode)
    except OSError:
        return False
