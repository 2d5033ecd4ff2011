"""A keeper of its own for one run: forked off, so that it is ready at once, and in nobody else's way."""

from __future__ import annotations

import os
import select
import signal
import socket

from nacre.base.system import become_keeper, open_descriptors
from nacre.keeper.protocol import private_tmpdir
from nacre.keeper.protocol.channel import Channel
from nacre.keeper.protocol.messages import FAILED, MAIN_FD, Start
from nacre.keeper.protocol.procfs import boot_id, keep_place
from nacre.keeper.spawn.shell import FIRST_FREE_FD, PLACE_FD

TYPE_CHECKING = False  # see wire.py
if TYPE_CHECKING:
    from nacre.keeper.server.server import Keeper

FREE = b"free"
"""It has no run any more, and nothing is left of the one that it had."""
_HANDING = 10.0
"""Seconds for a run to be handed over, which only a keeper that was stopped can take."""


def fork_keeper(parent: Keeper, like: Start | None, *, ahead: bool = False) -> tuple[Channel, int]:
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
        _live_apart(parent, theirs, like, ahead=ahead)
        os._exit(0)
    finally:
        os._exit(1)  # whatever it was, it is nothing for the loop of our parent, in which we still are


def _live_apart(parent: Keeper, channel: socket.socket, like: Start | None, *, ahead: bool) -> None:
    try:
        keeper = _become_apart(parent, channel)
    except OSError as error:
        _decline(channel, error, ahead=ahead)
        return
    if like is not None:
        keeper.get_ready(like)
    keeper.serve()


def _become_apart(parent: Keeper, channel: socket.socket) -> Keeper:
    """Let go of all that is our parent's, and be a keeper. Its objects are never touched again, nor freed: they hold
    numbers of descriptors that may be ours by now. OSError: something is lacking for it."""
    signal.set_wakeup_fd(-1)
    os.setsid()
    os.close(MAIN_FD)  # our parent may have had no descriptor left, and then there is none to look with
    kept = {channel.fileno(), parent.host}
    for fd in open_descriptors():
        if fd >= FIRST_FREE_FD and fd not in kept:
            try:
                os.close(fd)
            except OSError:
                pass  # the listing's own
    for fd in (MAIN_FD, PLACE_FD):
        os.dup2(0, fd, inheritable=False)
    keep_place(PLACE_FD)
    private_tmpdir.forget()
    become_keeper(b"nacre-task")
    keeper = type(parent)(Channel(channel), parent.files, parent.host, alone=True)
    keeper.environment, keeper.confined = parent.environment, parent.confined
    boot_id()  # known from now on
    keeper.listen()
    return keeper


def _decline(channel: socket.socket, error: OSError, *, ahead: bool) -> None:
    """Tell the run that this was forked for what is lacking, and remove what was made for it. One forked ahead has none
    yet: it takes no more, and tells only one that was handed over meanwhile."""
    if ahead:
        channel.shutdown(socket.SHUT_RDWR)
    os.dup2(0, MAIN_FD)
    os.close(MAIN_FD)  # there must be a descriptor free for the run's channel
    poll, main, message = select.poll(), Channel(channel), None
    poll.register(channel, select.POLLIN)
    try:
        while message is None and poll.poll(_HANDING * 1000):
            message = main.receive()
    except EOFError:
        return
    if message is None:
        return
    private_tmpdir.remove_scratch(Start.parse(message[0]).private)
    if message[1]:
        number = error.errno or 0
        with socket.socket(fileno=message[1][0]) as control:
            Channel(control).send(b"%b\0%d\0%b" % (FAILED, number, os.strerror(number).encode("utf-8", "replace")))
