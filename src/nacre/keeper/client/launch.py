"""Start a keeper: a Python process that inherits nothing of the host but one end of a socket and a stderr file."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import sys

from nacre.base import system
from nacre.base.shortages import SHORTAGE_HINTS
from nacre.environment import host_environment
from nacre.errors import KeeperFailed
from nacre.keeper.protocol.messages import MAIN_FD
from nacre.keeper.protocol.proc_check import proc_problem
from nacre.keeper.protocol.signals import DEFAULT_SIGNALS

_INHERITED_VARIABLES = (
    "PATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    system.PORTABLE_FLAG,
)
"""The keeper's whole environment: every command of this user may be able to read it."""
_MIN_OPEN_FILES = 96
"""Hard limit of file descriptors that a keeper needs at least."""


def spawn_keeper(channel: int, stderr: int) -> int:
    """Start a keeper process and return its PID. OSError: a temporary shortage. KeeperFailed: it cannot start here at
    all."""
    if not sys.executable:
        raise KeeperFailed("nacre's keeper needs a Python interpreter, and sys.executable is empty; set it first.")
    program = os.path.join(os.path.dirname(os.path.dirname(__file__)), "__main__.py")
    # A host that has closed its standard streams may have these descriptors at 0 to 2: move them up.
    sources: list[int] = []
    try:
        # One at a time: if there is no descriptor for the second, the first is closed again.
        sources.append(fcntl.fcntl(channel, fcntl.F_DUPFD_CLOEXEC, MAIN_FD + 1))
        sources.append(fcntl.fcntl(stderr, fcntl.F_DUPFD_CLOEXEC, MAIN_FD + 1))
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", program],
            {name: value for name, value in host_environment().items() if name in _INHERITED_VARIABLES},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_RDWR, 0),
                (os.POSIX_SPAWN_DUP2, sources[1], 2),
                (os.POSIX_SPAWN_DUP2, sources[0], MAIN_FD),
            ],
            setsid=True,
            setsigmask=(),
            setsigdef=DEFAULT_SIGNALS,
        )
    except (OSError, ValueError) as error:
        if getattr(error, "errno", 0) in SHORTAGE_HINTS:
            raise
        raise KeeperFailed(f"nacre's keeper could not be started with {sys.executable}: {_reason(error)}") from error
    finally:
        for fd in sources:
            os.close(fd)


def _reason(error: OSError | ValueError) -> str:
    if getattr(error, "errno", 0) != errno.EPERM:
        return f"{error}."
    from nacre.sandbox import clone3

    if clone3.is_clone3_denied():
        return f"{error}. {clone3.REMEDY}"
    return f"{error}. A seccomp profile or a security module denies it; `nacre doctor` looks for the cause."


def check_machine() -> None:
    """Raise KeeperFailed if no keeper can work on this machine. Cheap, as it runs before each start."""
    if problem := proc_problem():
        raise KeeperFailed(problem)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if 0 <= limit < _MIN_OPEN_FILES:
        raise KeeperFailed(
            f"nacre's keeper needs {_MIN_OPEN_FILES} file descriptors, and the hard limit is {limit}. "
            "Raise it where this program is started: ulimit -Hn."
        )


def open_pidfd(pid: int) -> int | None:
    """Return a pidfd of a process, where there are pidfds."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None  # not Linux, or an old kernel
