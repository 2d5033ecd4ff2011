"""A keeper of its own for one run: forked off, so that it is ready at once, and in nobody else's way.

The heir is one that was forked ahead, with a shell at its gate: a program that starts one task soon starts another.
It is given up after a while, like the spare.
"""

from __future__ import annotations

import os
import signal
import socket
import time

from nacre.keeper import scratch
from nacre.keeper.record import boot_id
from nacre.keeper.spare import PATIENCE
from nacre.keeper.spawn import FIRST_FREE_FD
from nacre.keeper.wire import MAIN_FD, Channel, Start
from nacre.system import become_keeper

TYPE_CHECKING = False  # see wire.py
if TYPE_CHECKING:
    from nacre.keeper.serve import Keeper


class Heir:
    __slots__ = ("_channel", "_pid", "_until")

    def __init__(self) -> None:
        self._channel: Channel | None = None
        self._pid = 0
        self._until = 0.0

    def prepare(self, like: Start, parent: Keeper) -> None:
        """Fork one that is ready for a run like this one."""
        self._until = time.monotonic() + PATIENCE
        if self._channel is None:
            try:
                # with a private directory, which is never the same again, no shell would fit
                self._channel, self._pid = fork_keeper(parent, None if like.private else like)
            except OSError:
                pass  # the next one will be forked when it is needed, or say why not

    def inherit(self, start: Start, message: bytes, fds: list[int], parent: Keeper) -> None:
        """Hand a run over. OSError: there is nobody to take it."""
        if self._channel is not None:
            channel, pid = self._channel, self._pid
            self._channel = None
            try:
                channel.send(message, fds)
                os.kill(pid, signal.SIGCONT)  # somebody may have stopped it
            except OSError:
                channel.close()  # somebody killed it
            else:
                channel.close()
                parent.keepers[pid] = start.tag
                parent.likely = _likely(start)
                return
        channel, pid = fork_keeper(parent, None)
        parent.keepers[pid] = start.tag
        try:
            channel.send(message, fds)
        finally:
            channel.close()
        parent.likely = _likely(start)

    def due(self) -> float | None:
        """When to give it up."""
        return None if self._channel is None else self._until

    def expire(self) -> None:
        if self._channel is not None and time.monotonic() >= self._until:
            self.dismiss()

    def dismiss(self) -> None:
        """It will not be needed: with its channel closed it goes."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None


def _likely(start: Start) -> Start | None:
    """What the next one will be like."""
    return start if start.reusable else None


def fork_keeper(parent: Keeper, like: Start | None) -> tuple[Channel, int]:
    """Our end of its channel, and its number. OSError: there is no process to be had."""
    channel, theirs = Channel.pair()
    try:
        pid = os.fork()
    except OSError:
        channel.close()
        theirs.close()
        raise
    if pid:
        theirs.close()
        parent.keepers[pid] = None
        return channel, pid
    try:
        _live_apart(parent, theirs, like)
        os._exit(0)
    finally:
        os._exit(1)  # whatever it was, it is nothing for the loop of our parent, in which we still are


def _live_apart(parent: Keeper, channel: socket.socket, like: Start | None) -> None:
    """Let go of all that is our parent's, and be a keeper. Its objects are never touched again, nor freed: they hold
    numbers of descriptors that may be ours by now."""
    signal.set_wakeup_fd(-1)
    os.setsid()
    kept = {channel.fileno(), parent.host}
    for name in os.listdir("/dev/fd"):
        if int(name) >= FIRST_FREE_FD and int(name) not in kept:
            try:
                os.close(int(name))
            except OSError:
                pass  # the listing's own
    os.dup2(0, MAIN_FD, inheritable=False)
    scratch.forget()
    become_keeper(b"nacre-task")
    keeper = type(parent)(Channel(channel), parent.files, parent.host, alone=True)
    keeper.environment, keeper.confined = parent.environment, parent.confined
    boot_id()  # known from now on
    if like is not None:
        keeper.get_ready(like)
    keeper.serve()
