"""Main program of a keeper: close all inherited descriptors but its socket, ignore most signals, serve."""

from __future__ import annotations

import os
import resource
import signal
import socket

from nacre.base.system import LINUX, become_subreaper, open_descriptors
from nacre.keeper.protocol.channel import Channel
from nacre.keeper.protocol.messages import MAIN_FD, StartMessage
from nacre.keeper.protocol.proc_check import PROC_UNUSABLE, proc_problem
from nacre.keeper.protocol.procfs import reserve_fd
from nacre.keeper.server.server import KeeperServer
from nacre.keeper.server.starter import RunStarter
from nacre.keeper.server.supervisor import Supervisor
from nacre.keeper.spawn.fork_keeper import fork_keeper
from nacre.keeper.spawn.shell import FIRST_FREE_FD, RESERVED_FD
from nacre.keeper.spawn.spawner import ShellSpawner
from nacre.keeper.spawn.standby import Standby, StandbyDemand
from nacre.keeper.spawn.standby_keepers import StandbyKeepers
from nacre.keeper.spawn.standby_shells import StandbyShells

_KEPT_SIGNALS = {
    "SIGKILL",
    "SIGSTOP",
    "SIGCONT",
    "SIGCHLD",
    "SIGSEGV",
    "SIGBUS",
    "SIGFPE",
    "SIGILL",
    "SIGABRT",
    "SIGTRAP",
    "SIGSYS",
}
"""All other signals are ignored."""


def _prepare() -> tuple[int, int]:
    """Prepare this process to be a keeper; return the RLIMIT_NOFILE for commands, soft and hard."""
    for fd in open_descriptors():
        if fd > MAIN_FD:
            try:
                os.close(fd)  # open in the host without close-on-exec
            except OSError:
                pass  # of the listing itself
    os.set_inheritable(MAIN_FD, False)
    os.chdir("/")
    for number in signal.valid_signals() - {getattr(signal, name) for name in _KEPT_SIGNALS}:
        signal.signal(number, signal.SIG_IGN)
    become_subreaper()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):
        pass  # macOS reports an unlimited value and rejects it
    null = os.open(os.devnull, os.O_RDWR)
    while os.dup(null) < FIRST_FREE_FD - 1:
        pass
    reserve_fd(RESERVED_FD)
    return soft, hard


def main() -> None:
    if problem := proc_problem():
        os.write(2, f"{PROC_UNUSABLE}{problem}\n".encode("utf-8", "replace"))
        return
    spawner = ShellSpawner(_prepare())
    keeper = make_keeper(Channel(socket.socket(fileno=MAIN_FD)), _open_host_pidfd(), spawner)
    keeper.listen()
    keeper.serve()


def make_keeper(channel: Channel, host: int | None, spawner: ShellSpawner, *, dedicated: bool = False) -> KeeperServer:
    """Make a keeper of this process.

    `host`: a pidfd of the host, where there are pidfds. `dedicated`: it was forked off another keeper, which is at the
    other end of the channel.
    """

    def make_dedicated(channel: Channel) -> KeeperServer:
        return make_keeper(channel, host, spawner, dedicated=True)

    def fork(like: StartMessage | None) -> tuple[Channel, int]:
        return fork_keeper(make_dedicated, host, like)

    supervisor, demand = Supervisor(), StandbyDemand()
    helpers = supervisor.children.helpers
    shells, keepers = StandbyShells(spawner, helpers), StandbyKeepers(supervisor.loop, helpers, demand, fork)
    standby = Standby(shells, keepers, demand, supervisor.reap, dedicated=dedicated)
    starter = RunStarter(supervisor, spawner, standby)
    return KeeperServer(channel, host, supervisor, starter, standby, dedicated=dedicated)


def _open_host_pidfd() -> int | None:
    """Open a pidfd of the host: a child forked by the host may keep the socket open after the host is dead."""
    try:
        return os.pidfd_open(os.getppid()) if LINUX else None
    except OSError:
        return None  # an old kernel; the socket has to suffice
