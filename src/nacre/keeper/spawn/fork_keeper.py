"""Fork a dedicated keeper for one run: it is ready at once, and no other run is in its way."""

from __future__ import annotations

import os
import select
import signal
import socket

from nacre.base.system import become_subreaper, open_descriptors
from nacre.keeper.protocol import private_tmpdir
from nacre.keeper.protocol.channel import Channel
from nacre.keeper.protocol.messages import MAIN_FD, StartMessage
from nacre.keeper.protocol.procfs import boot_id, reserve_fd
from nacre.keeper.protocol.replies import FailedReply
from nacre.keeper.spawn.shell import FIRST_FREE_FD, RESERVED_FD

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from nacre.keeper.server.server import KeeperServer

IDLE = b"free"
"""Message of a dedicated keeper that has no run any more, and nothing left of the last one."""
_HANDOVER_TIMEOUT_S = 10.0
"""Seconds to wait for the run to be handed over; only a stopped keeper takes that long."""


def fork_keeper(parent: KeeperServer, like: StartMessage | None, *, ahead: bool = False) -> tuple[Channel, int]:
    """Fork a keeper; return this process's end of its channel, and its PID. OSError: no process is available."""
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
        os._exit(1)  # whatever was raised must not reach the parent's event loop, inside which the child still is


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
    """Close what belongs to the parent, and become a keeper. The parent's objects are never used again, nor freed: they
    hold descriptor numbers that may belong to this process by now. OSError: no resources for it."""
    signal.set_wakeup_fd(-1)
    os.setsid()
    os.close(MAIN_FD)  # first: the parent may have had no descriptor left, but listing them needs one
    kept = {channel.fileno(), parent.host}
    for fd in open_descriptors():
        if fd >= FIRST_FREE_FD and fd not in kept:
            try:
                os.close(fd)
            except OSError:
                pass  # of the listing itself
    for fd in (MAIN_FD, RESERVED_FD):
        os.dup2(0, fd, inheritable=False)
    reserve_fd(RESERVED_FD)
    private_tmpdir.forget()
    become_subreaper(b"nacre-task")
    keeper = type(parent)(Channel(channel), parent.open_files_limit, parent.host, dedicated=True)
    keeper.environment, keeper.last_ruleset = parent.environment, parent.last_ruleset
    boot_id()  # cached from now on
    keeper.listen()
    return keeper


def _report_failure(channel: socket.socket, error: OSError, *, ahead: bool) -> None:
    """Report the shortage to the run that this keeper was forked for, and remove its private directory. A keeper forked
    ahead has no run yet: it accepts no more, and reports only to a run that was handed over meanwhile."""
    if ahead:
        channel.shutdown(socket.SHUT_RDWR)
    os.dup2(0, MAIN_FD)
    os.close(MAIN_FD)  # the run's channel needs a free descriptor
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
            Channel(control).send(FailedReply(number, os.strerror(number)).message())
