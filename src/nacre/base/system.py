"""Linux-specific system calls, and whether they may be used.

Defines `LINUX`, and the few calls that need it. With `NACRE_PORTABLE=1`, or on another system than Linux, `LINUX` is
False and only POSIX features are used; that is how macOS runs, and how the portable test suite runs on Linux.
"""

from __future__ import annotations

import errno
import os
import sys

PORTABLE_FLAG = "NACRE_PORTABLE"
SUPPORTED = sys.platform in ("linux", "darwin")
LINUX = sys.platform == "linux" and not os.environ.get(PORTABLE_FLAG)

_PR_SET_DUMPABLE = 4
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36

PIPE_BYTES = 1 << 20
_F_SETPIPE_SZ = 1031


def become_subreaper(name: bytes = b"nacre-keeper") -> None:
    """Make this process the reaper of its orphaned descendants, and protect its memory and environment.

    The process becomes undumpable: others of this user cannot read its memory or environment. Only if `LINUX`.
    """
    if not LINUX:
        return
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    libc.prctl(_PR_SET_NAME, name, 0, 0, 0)


def open_descriptors() -> list[int]:
    """Return this process's open file descriptors, including the one used for the listing."""
    # on Linux, /dev/fd is only a link to /proc/self/fd, and small containers do not have it
    return [int(name) for name in os.listdir("/proc/self/fd" if sys.platform == "linux" else "/dev/fd")]


def memory_file(data: bytes) -> int:
    """Return the descriptor of an unnamed file that contains `data`, positioned at its start."""
    fd = _nameless_file()
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view) :]
        os.lseek(fd, 0, os.SEEK_SET)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _nameless_file() -> int:
    """Open an unnamed file: a memfd if the kernel has them and no seccomp profile denies them, else a file on disk."""
    if LINUX:
        try:
            return os.memfd_create("nacre", os.MFD_CLOEXEC)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOSYS, errno.EACCES):
                raise
    import tempfile  # imported here: the keeper hardly ever needs it and loading it is slow

    from nacre.base.temp_dir import temporary_directory

    with tempfile.TemporaryFile(dir=temporary_directory()) as file:
        return os.dup(file.fileno())


def home_directory() -> str:
    """Return the absolute path of this user's home directory.

    It is `/` if HOME is unset and the user has no account, as in bash: `expanduser` would leave `~`, a directory of
    that name in the current directory, which belongs to the project.
    """
    home = os.path.expanduser("~")
    return home if os.path.isabs(home) else "/"


def state_directory() -> str:
    """Return the directory for persistent state: sessions, tasks."""
    return _directory("XDG_STATE_HOME", ".local/state/nacre", "user_state_path")


def config_directory() -> str:
    """Return the directory of the user's settings."""
    return _directory("XDG_CONFIG_HOME", ".config/nacre", "user_config_path")


def _directory(variable: str, usual: str, elsewhere: str) -> str:
    """Return nacre's XDG directory; on other systems, the one that platformdirs' function `elsewhere` returns."""
    home = os.environ.get(variable, "")
    if os.path.isabs(home):
        return os.path.join(home, "nacre")
    if os.uname().sysname == "Linux":
        return os.path.join(home_directory(), usual)
    import platformdirs

    return str(getattr(platformdirs, elsewhere)("nacre"))


MIN_FREE_DISK_BYTES = 64 * 1024 * 1024
"""Free disk space that must remain when optional data (spills, logs) is written; on a small disk, a twentieth of it."""


def require_free_space(fd: int, size: int) -> None:
    """Raise OSError (ENOSPC) if `size` more bytes would leave less than the minimum free on the disk of this file."""
    disk = os.fstatvfs(fd)
    if disk.f_bavail * disk.f_frsize < min(MIN_FREE_DISK_BYTES, disk.f_blocks * disk.f_frsize // 20) + size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def grow_pipe(fd: int) -> None:
    """Enlarge the buffer of a busy pipe.

    Only of a busy one: a user's pipes share a quota, and beyond it every new pipe is tiny.
    """
    if LINUX:
        import fcntl

        try:
            fcntl.fcntl(fd, _F_SETPIPE_SZ, PIPE_BYTES)
        except OSError:
            pass  # over the quota: slower, but correct
