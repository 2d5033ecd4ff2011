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
    from collections.abc import Callable
    from typing import Protocol

    class ForkedKeeper(Protocol):
        """A keeper in the forked process."""

        def listen(self) -> None: ...
        def serve(self, like: StartMessage | None = None) -> None: ...


IDLE = b"free"
"""Message of a dedicated keeper that has no run any more, and nothing left of the last one."""
_HANDOVER_TIMEOUT_S = 10.0
"""Seconds to wait for the run to be handed over; only a stopped keeper takes that long."""


def fork_keeper(
    make_keeper: Callable[[Channel], ForkedKeeper], host: int | None, like: StartMessage | None
) -> tuple[Channel, int]:
    """Fork a keeper; return this process's end of its channel, and its PID. OSError: no process is available.

    `make_keeper` is called in the child. `host`: a descriptor that it needs. `like`: the keeper is forked ahead, for a
    run like this one; None: its run is about to be handed over.
    """
    channel, theirs = Channel.pair()
    try:
        pid = os.fork()
    except OSError:
        channel.close()
        theirs.close()
        raise
    if pid:
        theirs.close()
        return channel, pid
    try:
        _child_main(make_keeper, host, theirs, like)
        os._exit(0)
    finally:
        os._exit(1)  # whatever was raised must not reach the parent's event loop, inside which the child still is


def _child_main(
    make_keeper: Callable[[Channel], ForkedKeeper], host: int | None, channel: socket.socket, like: StartMessage | None
) -> None:
    try:
        _reset_after_fork({channel.fileno(), host})
        keeper = make_keeper(Channel(channel))
        boot_id()  # cached from now on
        keeper.listen()
    except OSError as error:
        _report_failure(channel, error, ahead=like is not None)
        return
    keeper.serve(like)


def _reset_after_fork(kept: set[int | None]) -> None:
    """Close what belongs to the parent, but for the descriptors in `kept`. The parent's objects are never used again,
    nor freed: they hold descriptor numbers that may belong to this process by now. OSError: no resources for it."""
    signal.set_wakeup_fd(-1)
    os.setsid()
    os.close(MAIN_FD)  # first: the parent may have had no descriptor left, but listing them needs one
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
