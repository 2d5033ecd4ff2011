"""Detect a seccomp profile that denies `clone3` with EPERM, an error that no C library handles. Loaded when a start has
failed, and by `nacre doctor`.

glibc starts processes and threads with `clone3` and falls back to `clone` only on ENOSYS. A seccomp profile that is
older than the system call answers EPERM.
"""

from __future__ import annotations

import errno
import os
import sys

from nacre.errors import KeeperFailed

_CLONE3 = 435
"""System call number, the same on every architecture."""

REMEDY = (
    "A seccomp profile denies clone3 with EPERM, where ENOSYS is the right answer: no process or thread can be "
    "started. Update the container runtime (docker: 20.10.10 or newer), or give the container another profile: "
    "--security-opt seccomp=PROFILE."
)


def is_clone3_denied() -> bool:
    """Call `clone3` with a size of 0 and return True on EPERM. Where the call is allowed it fails with EINVAL; either
    way no process is started."""
    if sys.platform != "linux":
        return False
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(ctypes.c_long(_CLONE3), None, ctypes.c_size_t(0))
    return ctypes.get_errno() == errno.EPERM


def no_thread() -> KeeperFailed | BlockingIOError:
    """Return the error to raise after a thread could not be started."""
    if is_clone3_denied():
        return KeeperFailed(REMEDY)
    return BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
