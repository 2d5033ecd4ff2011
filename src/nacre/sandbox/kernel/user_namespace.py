"""A user namespace, in which a process without privileges may mount: only for a process with one thread, and for good.

The user keeps their user ID in it. Every other user, including root, appears as `nobody`.
"""

from __future__ import annotations

import os

from nacre.sandbox.kernel.libc import call
from nacre.sandbox.kernel.syscalls import NUMBERS

_CLONE_NEWUSER = 0x10000000
_PR_SET_DUMPABLE = 4


def enter_user_namespace() -> None:
    """Move this process into a new user namespace. Raises OSError if that is forbidden here or it has several
    threads."""
    from nacre.sandbox.kernel.libc import prctl

    uid, gid = os.geteuid(), os.getegid()
    call(NUMBERS[os.uname().machine]["unshare"], _CLONE_NEWUSER)
    prctl(_PR_SET_DUMPABLE, 1)  # else the files of this process in /proc belong to root
    try:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{uid} {uid} 1")
        _write("/proc/self/gid_map", f"{gid} {gid} 1")
    finally:
        prctl(_PR_SET_DUMPABLE, 0)


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
