"""A keeper of its own for one run: forked off, so that it is ready at once, and in nobody else's way."""

from __future__ import annotations

import os
import select
import signal
import socket

from nacre.base.system import become_subreaper, open_descriptors
from nacre.keeper.protocol import private_tmpdir
from nacre.keeper.protocol.channel import Channel
from nacre.keeper.protocol.messages import FAILED, MAIN_FD, StartMessage
from nacre.keeper.protocol.procfs import boot_id, reserve_fd
from nacre.keeper.spawn.shell import FIRST_FREE_FD, RESERVED_FD

TYPE_CHECKING = False  # see wire.py
if TYPE_CHECKING:
    from nacre.keeper.server.server import KeeperServer

IDLE = b"free"
"""It has no run any more, and nothing is left of the one that it had."""
_HANDOVER_TIMEOUT_S = 10.0
"""Seconds for a run to be handed over, which only a keeper that was stopped can take."""


def fork_keeper(parent: KeeperServer, like: StartMessage | None, *, ahead: bool = False) -> tuple[Channel, int]:
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
        _child_main(parent, theirs, like, ahead=ahead)
        os._exit(0)
    finally:
        os._exit(1)  # whatever it was, it is nothing for the loop of our parent, in which we still are


def _child_main(parent: KeeperServer, channel: socket.socket, like: StartMessage | None, *, ahead: bool) -> None:
    try:
        keeper = _reset_after_fork(parent, channel)
    except OSError as error:
        _report_failure(channel, error, ahead=ahead)
        return
    if like is not None:
        keeper.prepare_standby(like)
    keeper.serve()


def _reset_after_fork(parent: KeeperServer, channel: socket.socket) -> KeeperServer:
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
    for fd in (MAIN_FD, RESERVED_FD):
        os.dup2(0, fd, inheritable=False)
    reserve_fd(RESERVED_FD)
    private_tmpdir.forget()
    become_subreaper(b"nacre-task")
    keeper = type(parent)(Channel(channel), parent.open_files_limit, parent.host, alone=True)
    keeper.environment, keeper.last_ruleset = parent.environment, parent.last_ruleset
    boot_id()  # known from now on
    keeper.listen()
    return keeper


def _report_failure(channel: socket.socket, error: OSError, *, ahead: bool) -> None:
    """Tell the run that this was forked for what is lacking, and remove what was made for it. One forked ahead has none
    yet: it takes no more, and tells only one that was handed over meanwhile."""
    if ahead:
        channel.shutdown(socket.SHUT_RDWR)
    os.dup2(0, MAIN_FD)
    os.close(MAIN_FD)  # there must be a descriptor free for the run's channel
    poll, main, message = select.poll(), Channel(channel), None
    poll.register(channel, select.POLLIN)
    try:
        while message is None and poll.poll(_HANDOVER_TIMEOUT_S * 1000):
            message = main.receive()
    except EOFError:
        return
    if message is None:
        return
    private_tmpdir.remove_private_tmpdir(StartMessage.parse(message[0]).private_dir)
    if message[1]:
        number = error.errno or 0
        with socket.socket(fileno=message[1][0]) as control:
            Channel(control).send(b"%b\0%d\0%b" % (FAILED, number, os.strerror(number).encode("utf-8", "replace")))
