"""Heirs: keepers of their own for runs that may outlive this one, before they have a run and after.

Most such runs end without having become a task, and leave nothing. Then their keeper comes back, with a shell at its
gate: who has one command run after the other has one heir, and all that is started for a command is its shell. A task
keeps its keeper; so another is forked ahead, because a program that starts one task soon starts another. They are given
up after a while, like the spare; all but one of them sooner.

The run hears who is to keep it before that one does, and from that one what it lacks, if it cannot. So a channel that
closes without a word has reached nobody.
"""

from __future__ import annotations

import os
import signal
import socket
import time

from nacre.base.system import LINUX
from nacre.keeper.protocol.channel import Channel
from nacre.keeper.protocol.messages import StartMessage
from nacre.keeper.protocol.procfs import is_exiting
from nacre.keeper.spawn.fork_keeper import fork_keeper
from nacre.keeper.spawn.standby_shells import EXTRA_TIMEOUT_S, IDLE_TIMEOUT_S

TYPE_CHECKING = False  # see wire.py
if TYPE_CHECKING:
    from nacre.keeper.server.server import KeeperServer

ASSIGNED = b"handed"
"""To whom a run is handed over, told before it is."""
_MAX_STANDBY_KEEPERS = 8
"""That may come back. Beyond that, each goes with its run."""


class StandbyKeepers:
    __slots__ = ("_busy", "_idle", "_last_request_at")

    def __init__(self) -> None:
        self._idle: list[tuple[Channel, int]] = []
        """In waiting, the last to come back last. That one is next, so that there are no more than are needed."""
        self._busy: dict[int, Channel] = {}
        """By pid: those that have a run, and may come back."""
        self._last_request_at = 0.0
        """When one was last wanted."""

    def prefork(self, like: StartMessage, parent: KeeperServer) -> None:
        """Fork one that is ready for a run like this one. OSError: there is no process to be had."""
        self._last_request_at = time.monotonic()
        if not self._idle:
            self._idle.append(fork_keeper(parent, like, ahead=True))

    def assign(self, start: StartMessage, message: bytes, fds: list[int], parent: KeeperServer) -> None:
        """Hand a run over. OSError: there is nobody to take it."""
        self._last_request_at = time.monotonic()
        if not self._idle:
            for pid in list(self._busy):
                self._on_readable(pid, start, parent)  # it may have come back just now
        while self._idle:
            channel, pid = self._idle.pop()
            try:
                if LINUX and is_exiting(pid):
                    raise ProcessLookupError  # somebody killed it; it would still take messages
                _hand_over(channel, pid, message, fds)
                os.kill(pid, signal.SIGCONT)  # somebody may have stopped it
            except OSError:
                channel.close()  # or it could not get ready
            else:
                self._mark_busy(channel, pid, start, parent)
                return
        channel, pid = fork_keeper(parent, None)
        parent.keepers[pid] = _owned_by(start)
        try:
            _hand_over(channel, pid, message, fds)
        except OSError:
            channel.close()
            raise
        self._mark_busy(channel, pid, start, parent)

    def _mark_busy(self, channel: Channel, pid: int, start: StartMessage, parent: KeeperServer) -> None:
        parent.keepers[pid] = _owned_by(start)
        if LINUX and not start.task and len(self._busy) < _MAX_STANDBY_KEEPERS:
            self._busy[pid] = channel
            parent.loop.watch(channel, lambda: self._on_readable(pid, start, parent))
        else:
            channel.close()
            parent.next_start_hint = _next_hint(start)

    def _on_readable(self, pid: int, start: StartMessage, parent: KeeperServer) -> None:
        """Of one that was lent: it has come back, or will not."""
        channel = self._busy[pid]
        try:
            if channel.receive() is None:
                return
            back = pid in parent.keepers and len(self._idle) < _MAX_STANDBY_KEEPERS and not parent.resources_short
        except EOFError:
            back = False
            if len(self._busy) == 1 and not parent.stopping:
                parent.next_start_hint = _next_hint(start)
        del self._busy[pid]
        parent.loop.forget(channel)
        if back:
            parent.keepers[pid] = None
            self._idle.append((channel, pid))
        else:
            channel.close()

    def next_expiry(self) -> float | None:
        """When to give one up."""
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
        """It will not be needed: with its channel closed it goes."""
        self._idle.pop(0)[0].close()


def _owned_by(start: StartMessage) -> tuple[int | None, bytes]:
    """What ends with its keeper, if somebody kills that, and what goes then. What an ender reaches has a pipe for
    that."""
    return None if start.kill_script else start.tag, start.private_dir


def _next_hint(start: StartMessage) -> StartMessage | None:
    """What the next one will be like."""
    return start if start.standby_ok else None


def _hand_over(channel: Channel, pid: int, message: bytes, fds: list[int]) -> None:
    control = Channel(socket.socket(fileno=fds[0]))
    try:
        control.send(b"%b\0%d" % (ASSIGNED, pid))
    except ConnectionError:
        pass  # nobody waits for it any more, as whoever is to keep it will see
    finally:
        control.socket.detach()
    channel.send(message, fds)
