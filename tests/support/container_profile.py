"""Runs a program under a seccomp filter like the default ones of docker and podman.

    python -m tests.support.container_profile PROGRAM ARGUMENTS…

The filter denies the system calls that either of the two denies to a container without capabilities, as far as a
program could use them: namespaces, mounts, keys, io_uring and the like. Child processes inherit the filter.
"""

from __future__ import annotations

import os
import platform
import struct
import sys

from nacre.sandbox.kernel.apply import install_filter
from nacre.sandbox.kernel.libc import prctl
from nacre.sandbox.kernel.syscalls import ARCHITECTURES, NUMBERS

_DENIED = (
    "unshare setns mount umount2 pivot_root open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr "
    "keyctl add_key request_key bpf perf_event_open fanotify_init userfaultfd kcmp pidfd_getfd process_madvise "
    "io_uring_setup io_uring_enter io_uring_register open_by_handle_at quotactl syslog move_pages"
).split()
_NAMESPACE_FLAGS = 0x7E020000  # CLONE_NEW*, as docker's profile tests them
_EPERM, _ENOSYS = 1, 38
_PR_SET_NO_NEW_PRIVS = 38

_LOAD, _IF_EQUAL, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


def build_filter(machine: str) -> bytes:
    """Return the filter as the kernel takes it. Calls of other architectures pass: a test suite makes none."""
    numbers = NUMBERS[machine]
    code = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_IF_EQUAL, 1, 0, ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, _NUMBER),
        (_IF_EQUAL, 0, 1, numbers["clone3"]),  # flags in memory, unreadable here; libc falls back to clone on ENOSYS
        (_RETURN, 0, 0, _ERRNO | _ENOSYS),
    ]
    for name in _DENIED:
        code += [(_IF_EQUAL, 0, 1, numbers[name]), (_RETURN, 0, 0, _ERRNO | _EPERM)]
    code += [
        (_IF_EQUAL, 0, 3, numbers["clone"]),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_IF_ANY_BIT, 0, 1, _NAMESPACE_FLAGS),
        (_RETURN, 0, 0, _ERRNO | _EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *each) for each in code)


def main() -> None:
    machine = platform.machine()
    if machine not in NUMBERS:
        print(f"no seccomp filter: the system call numbers of {machine} are not known", file=sys.stderr)
    else:
        if os.geteuid() != 0:
            prctl(_PR_SET_NO_NEW_PRIVS, 1)  # else only root may install a filter
        install_filter(build_filter(machine))
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
