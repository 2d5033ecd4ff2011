"""Standby keepers: dedicated keepers without a run, started ahead or returned after a run.

A run that may become a background task gets a dedicated keeper. Most such runs end without becoming one and leave
nothing; then their keeper returns to this pool, with a standby shell. So a host that runs one command after another has
one standby keeper, and all that is started for a command is its shell. A task holds its keeper; so another is forked
ahead, because a program that starts one task soon starts another. Idle keepers are stopped after `IDLE_TIMEOUT_S`, all
but one of them after `EXTRA_TIMEOUT_S`.

A run's channel names the keeper before that keeper gets the run; a keeper that lacks resources for it reports that
there. So if the channel closes without any message, no keeper has got the run.
"""

from __future__ import annotations

import os
import signal
import socket
import time

from nacre.base.system import LINUX
from nacre.keeper.protocol.channel import Channel
from nacre.keeper.protocol.ending import UNKILLABLE_AFTER_S
from nacre.keeper.protocol.messages import StartMessage
from nacre.keeper.protocol.private_tmpdir import remove_private_tmpdir
from nacre.keeper.protocol.procfs import is_exiting
from nacre.keeper.protocol.replies import AssignedReply
from nacre.keeper.protocol.signals import kill_tagged
from nacre.keeper.spawn.standby_shells import EXTRA_TIMEOUT_S, IDLE_TIMEOUT_S

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from collections.abc import Callable

    from nacre.keeper.server.event_loop import EventLoop
    from nacre.keeper.spawn.standby import StandbyDemand

_MAX_STANDBY_KEEPERS = 8
"""Keepers that may return to the pool; further ones exit after their run."""


class StandbyKeepers:
    """The dedicated keepers that this keeper has forked: idle ones, and those that have a run."""

    __slots__ = ("_busy", "_demand", "_fork", "_idle", "_last_request_at", "_loop", "_on_exit_of", "_runs")

    def __init__(
        self,
        loop: EventLoop,
        on_exit_of: dict[int, Callable[[int], None]],
        demand: StandbyDemand,
        fork: Callable[[StartMessage | None], tuple[Channel, int]],
    ) -> None:
        """`on_exit_of`: by PID, the function that is called with the wait status of a child. `fork`: forks a keeper,
        ahead of a run like this one or for one that is about to be handed over; returns its channel and PID."""
        self._loop = loop
        self._on_exit_of = on_exit_of
        self._demand = demand
        self._fork = fork
        self._idle: list[tuple[Channel, int]] = []
        """Idle keepers, last returned last. The last one is taken first, so that surplus ones expire."""
        self._busy: dict[int, Channel] = {}
        """By PID: keepers that have a run and may return."""
        self._runs: dict[int, tuple[int | None, bytes] | None] = {}
        """By PID, for every live keeper: the tag of its run, if the run must be killed when the keeper dies, and the
        run's private directory. None: it has no run."""
        self._last_request_at = 0.0
        """Time at which one was last needed."""

    @property
    def pids(self) -> set[int]:
        return set(self._runs)

    @property
    def has_idle(self) -> bool:
        """Whether a keeper has no run, even if it is exiting."""
        return None in self._runs.values()

    def prefork(self, like: StartMessage) -> None:
        """Fork a keeper that is ready for a run like this one. OSError: no process is available."""
        self._last_request_at = time.monotonic()
        if not self._idle:
            self._idle.append(self._fork_keeper(like))

    def _fork_keeper(self, like: StartMessage | None) -> tuple[Channel, int]:
        channel, pid = self._fork(like)
        self._runs[pid] = None
        self._on_exit_of[pid] = lambda status: self._on_exit(pid, status)
        return channel, pid

    def assign(self, start: StartMessage, message: bytes, fds: list[int]) -> None:
        """Hand a run over to a keeper. OSError: none could take it."""
        self._last_request_at = time.monotonic()
        if not self._idle:
            for pid in list(self._busy):
                self._on_readable(pid, start)  # it may have returned just now
        while self._idle:
            channel, pid = self._idle.pop()
            try:
                if LINUX and is_exiting(pid):
                    raise ProcessLookupError  # it was killed, although its socket still accepts messages
                _hand_over(channel, pid, message, fds)
                os.kill(pid, signal.SIGCONT)  # another process may have stopped it
            except OSError:
                channel.close()  # or it could not get ready
            else:
                self._mark_busy(channel, pid, start)
                return
        channel, pid = self._fork_keeper(None)
        self._runs[pid] = _owned_by(start)
        try:
            _hand_over(channel, pid, message, fds)
        except OSError:
            channel.close()
            raise
        self._mark_busy(channel, pid, start)

    def _mark_busy(self, channel: Channel, pid: int, start: StartMessage) -> None:
        self._runs[pid] = _owned_by(start)
        if LINUX and not start.task and len(self._busy) < _MAX_STANDBY_KEEPERS:
            self._busy[pid] = channel
            self._loop.watch(channel, lambda: self._on_readable(pid, start))
        else:
            channel.close()
            self._demand.expect(start)

    def _on_readable(self, pid: int, start: StartMessage) -> None:
        """Handle a message of a busy keeper: it has returned to the pool, or never will."""
        channel = self._busy[pid]
        try:
            if channel.receive() is None:
                return
            full = len(self._idle) >= _MAX_STANDBY_KEEPERS
            back = pid in self._runs and not full and not self._demand.resources_short
        except EOFError:
            back = False
            if len(self._busy) == 1:
                self._demand.expect(start)
        del self._busy[pid]
        self._loop.forget(channel)
        if back:
            self._runs[pid] = None
            self._idle.append((channel, pid))
        else:
            channel.close()

    def _on_exit(self, pid: int, status: int) -> None:
        """Handle the exit of a keeper. If it was killed, kill its run and remove its private directory."""
        run = self._runs.pop(pid)
        if run is not None and status:
            tag, private_dir = run
            if tag is not None:
                kill_tagged(tag, tag, UNKILLABLE_AFTER_S)
            remove_private_tmpdir(private_dir)

    def next_expiry(self) -> float | None:
        """Return the time at which an idle keeper is to be stopped."""
        if not self._idle:
            return None
        return self._last_request_at + (IDLE_TIMEOUT_S if len(self._idle) == 1 else EXTRA_TIMEOUT_S)

    def expire(self) -> None:
        due = self.next_expiry()
        if due is not None and time.monotonic() >= due:
            self._stop_one()

    def stop_all(self) -> None:
        while self._idle:
            self._stop_one()

    def _stop_one(self) -> None:
        """Stop the longest idle keeper: it exits when its channel is closed."""
        self._idle.pop(0)[0].close()


def _owned_by(start: StartMessage) -> tuple[int | None, bytes]:
    """Return the tag to kill and the directory to remove if the keeper is killed. A run with a kill script has no tag
    here: it notices the keeper's death by a pipe."""
    return None if start.kill_script else start.tag, start.private_dir


def _hand_over(channel: Channel, pid: int, message: bytes, fds: list[int]) -> None:
    control = Channel(socket.socket(fileno=fds[0]))
    try:
        control.send(AssignedReply(pid).message())
    except ConnectionError:
        pass  # no listener any more: the run's keeper will notice
    finally:
        control.socket.detach()
    channel.send(message, fds)
