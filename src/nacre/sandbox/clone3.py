"""Whether the system call `clone3` is denied in the one way that no C library copes with. Loaded when a start has
failed, and by `nacre doctor`.

glibc starts processes and threads with `clone3`, and goes back to `clone` only where the answer is ENOSYS. A seccomp
profile that is older than the call answers EPERM.
"""

from __future__ import annotations

import errno
import os
import sys

from nacre.errors import KeeperFailed

_CLONE3 = 435
"""Its number, on every architecture."""

REMEDY = (
    "A seccomp profile denies clone3 with EPERM, where ENOSYS is the right answer: no process or thread can be "
    "started. Update the container runtime (docker: 20.10.10 or newer), or give the container another profile: "
    "--security-opt seccomp=PROFILE."
)


def is_clone3_denied() -> bool:
    """By a call that starts nothing: its arguments are too short, which an allowed clone3 says (EINVAL)."""
    if sys.platform != "linux":
        return False
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(ctypes.c_long(_CLONE3), None, ctypes.c_size_t(0))
    return ctypes.get_errno() == errno.EPERM


def no_thread() -> KeeperFailed | BlockingIOError:
    """The error to raise where a thread could not be started."""
    if is_clone3_denied():
        return KeeperFailed(REMEDY)
    return BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
