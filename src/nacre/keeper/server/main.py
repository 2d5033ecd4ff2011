"""How a process becomes a keeper: it lets go of everything but its socket, and hears no polite signal."""

from __future__ import annotations

import os
import resource
import signal
import socket

from nacre.base.system import LINUX, become_subreaper, open_descriptors
from nacre.keeper.protocol.channel import Channel
from nacre.keeper.protocol.messages import MAIN_FD
from nacre.keeper.protocol.proc_check import PROC_UNUSABLE, proc_problem
from nacre.keeper.protocol.procfs import reserve_fd
from nacre.keeper.server.server import KeeperServer
from nacre.keeper.spawn.shell import FIRST_FREE_FD, RESERVED_FD

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
"""All other signals are polite requests, and ignored."""


def _prepare() -> tuple[int, int]:
    """Make this process fit to be a keeper; gives the RLIMIT_NOFILE that commands shall have."""
    for fd in open_descriptors():
        if fd > MAIN_FD:
            try:
                os.close(fd)  # whatever the host had open without close-on-exec
            except OSError:
                pass  # the listing's own
    os.set_inheritable(MAIN_FD, False)
    os.chdir("/")
    for number in signal.valid_signals() - {getattr(signal, name) for name in _KEPT_SIGNALS}:
        signal.signal(number, signal.SIG_IGN)
    become_subreaper()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):
        pass  # macOS says unlimited and does not mean it
    null = os.open(os.devnull, os.O_RDWR)
    while os.dup(null) < FIRST_FREE_FD - 1:
        pass
    reserve_fd(RESERVED_FD)
    return soft, hard


def main() -> None:
    if problem := proc_problem():
        os.write(2, f"{PROC_UNUSABLE}{problem}\n".encode("utf-8", "replace"))
        return
    files = _prepare()
    keeper = KeeperServer(Channel(socket.socket(fileno=MAIN_FD)), files, _open_host_pidfd())
    keeper.listen()
    keeper.serve()


def _open_host_pidfd() -> int | None:
    """A descriptor that tells of its end: a child that it forked may hold our socket open after it is dead."""
    try:
        return os.pidfd_open(os.getppid()) if LINUX else None
    except OSError:
        return None  # an old kernel; the socket has to do
