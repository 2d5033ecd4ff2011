"""What the operating system lends the keeper beyond POSIX, and whether it may be used.

Gives `LINUX`, and the few calls that need it. With `NACRE_PORTABLE=1`, or elsewhere than on Linux, `LINUX` is
False and everything runs on what any Unix has; that is how macOS runs, and how the portable suite runs here.
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
    """Orphans come to this process, and no other process of this user may read its memory or environment."""
    if not LINUX:
        return
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    libc.prctl(_PR_SET_NAME, name, 0, 0, 0)


def open_descriptors() -> list[int]:
    """The numbers of this process's open descriptors, that of the listing itself among them."""
    # /dev/fd is only a link to this on Linux, and small containers lack it
    return [int(name) for name in os.listdir("/proc/self/fd" if sys.platform == "linux" else "/dev/fd")]


def memory_file(data: bytes) -> int:
    """A nameless file that holds `data`, positioned at its start."""
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
    """In memory where the kernel has such files and nobody denies them, as seccomp profiles do; else on disk."""
    if LINUX:
        try:
            return os.memfd_create("nacre", os.MFD_CLOEXEC)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOSYS, errno.EACCES):
                raise
    import tempfile  # here, because the keeper hardly ever needs it and it takes long to load

    from nacre.base.temp_dir import temporary_directory

    with tempfile.TemporaryFile(dir=temporary_directory()) as file:
        return os.dup(file.fileno())


def state_directory() -> str:
    """Where what is to be found again is kept: sessions, tasks."""
    return _directory("XDG_STATE_HOME", "~/.local/state/nacre", "user_state_path")


def config_directory() -> str:
    """Where the user's settings are."""
    return _directory("XDG_CONFIG_HOME", "~/.config/nacre", "user_config_path")


def _directory(variable: str, usual: str, elsewhere: str) -> str:
    """As XDG has it; `elsewhere`: the function of platformdirs that knows, where that is not the custom."""
    home = os.environ.get(variable, "")
    if os.path.isabs(home):
        return os.path.join(home, "nacre")
    if os.uname().sysname == "Linux":
        return os.path.expanduser(usual)
    import platformdirs

    return str(getattr(platformdirs, elsewhere)("nacre"))


MIN_FREE_DISK_BYTES = 64 * 1024 * 1024
"""Bytes of a disk that what is only kept to be read later leaves alone; of a small disk, a twentieth."""


def require_free_space(fd: int, size: int) -> None:
    """OSError: so much more would take the disk of this file below its floor."""
    disk = os.fstatvfs(fd)
    if disk.f_bavail * disk.f_frsize < min(MIN_FREE_DISK_BYTES, disk.f_blocks * disk.f_frsize // 20) + size:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def grow_pipe(fd: int) -> None:
    """Give a busy pipe room. Only then: a user's pipes share one quota, and past it every new one is tiny."""
    if LINUX:
        import fcntl

        try:
            fcntl.fcntl(fd, _F_SETPIPE_SZ, PIPE_BYTES)
        except OSError:
            pass  # over the quota: slower, not wrong
