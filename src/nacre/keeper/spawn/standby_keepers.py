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
from nacre.keeper.protocol.messages import StartMessage
from nacre.keeper.protocol.procfs import is_exiting
from nacre.keeper.protocol.replies import AssignedReply
from nacre.keeper.spawn.fork_keeper import fork_keeper
from nacre.keeper.spawn.standby_shells import EXTRA_TIMEOUT_S, IDLE_TIMEOUT_S

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from nacre.keeper.server.server import KeeperServer

_MAX_STANDBY_KEEPERS = 8
"""Keepers that may return to the pool; further ones exit after their run."""


class StandbyKeepers:
    __slots__ = ("_busy", "_idle", "_last_request_at")

    def __init__(self) -> None:
        self._idle: list[tuple[Channel, int]] = []
        """Idle keepers, last returned last. The last one is taken first, so that surplus ones expire."""
        self._busy: dict[int, Channel] = {}
        """By PID: keepers that have a run and may return."""
        self._last_request_at = 0.0
        """Time at which one was last needed."""

    def prefork(self, like: StartMessage, parent: KeeperServer) -> None:
        """Fork a keeper that is ready for a run like this one. OSError: no process is available."""
        self._last_request_at = time.monotonic()
        if not self._idle:
            self._idle.append(fork_keeper(parent, like, ahead=True))

    def assign(self, start: StartMessage, message: bytes, fds: list[int], parent: KeeperServer) -> None:
        """Hand a run over to a keeper. OSError: none could take it."""
        self._last_request_at = time.monotonic()
        if not self._idle:
            for pid in list(self._busy):
                self._on_readable(pid, start, parent)  # it may have returned just now
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
        """Handle a message of a busy keeper: it has returned to the pool, or never will."""
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


def _next_hint(start: StartMessage) -> StartMessage | None:
    """Return a start message that the next one is likely to resemble."""
    return start if start.standby_ok else None


def _hand_over(channel: Channel, pid: int, message: bytes, fds: list[int]) -> None:
    control = Channel(socket.socket(fileno=fds[0]))
    try:
        control.send(AssignedReply(pid).message())
    except ConnectionError:
        pass  # no listener any more: the run's keeper will notice
    finally:
        control.socket.detach()
    channel.send(message, fds)
