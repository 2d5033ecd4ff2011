"""Builds the seccomp program that the kernel runs before every system call. Pure.

Landlock covers files, TCP and signals; this denies the rest. A program is a binary search tree over system call
numbers whose leaves test a few arguments; calls that are not in it are allowed. A denied call fails with an errno that
programs handle. The process is killed only if it uses another architecture, where the numbers have other meanings.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from nacre.sandbox.kernel.syscalls import ARCHITECTURES, NUMBERS

Sockets: TypeAlias = Literal["none", "tcp", "internet"]
"""Sockets that may be opened in addition to socket pairs: none, TCP (to ports that Landlock allows), or any that
reaches the network."""

_EPERM, _ENOSYS = 1, 38
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_SOCK_STREAM, _SOCK_SEQPACKET, _SOCK_KIND = 1, 5, 0xF
_IPPROTO_TCP = 6
_MSG_FASTOPEN = 0x20000000
_NAMESPACES = 0x7E020000
"""Every CLONE_NEW* flag except CLONE_NEWTIME, which `clone` does not accept."""
_O_ACCMODE, _O_TRUNC = 0o3, 0o1000
_O_MAKES_FILE = 0o100 | 0o20000000
"""O_CREAT, and the bit that only O_TMPFILE has: without these the kernel ignores the mode, which may be anything."""
_S_ISUID = 0o4000
_FUTEX_PRIVATE, _FUTEX_COMMAND = 0x80, 0x7F
_FUTEX_REQUEUES = (3, 4, 11, 12)
"""REQUEUE, CMP_REQUEUE, WAIT_REQUEUE_PI, CMP_REQUEUE_PI."""
_PRIO_PROCESS, _PRIO_PGRP = 0, 1
_IOPRIO_WHO_PROCESS, _IOPRIO_WHO_PGRP = 1, 2
_RLIMIT_LOCKS = 10
_F_SETLEASE = 1024
_X32 = 0x40000000

# one instruction: code, jump if true, jump if false, operand
Instruction: TypeAlias = tuple[int, int, int, int]
InstructionBlock: TypeAlias = "list[Instruction]"

_LOAD, _JUMP, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x05, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER, _ARCHITECTURE = 0, 4
ALLOW: InstructionBlock = [(_RETURN, 0, 0, 0x7FFF0000)]
_KILL: InstructionBlock = [(_RETURN, 0, 0, 0x80000000)]


def _deny(error: int = _EPERM) -> InstructionBlock:
    """Return a block that fails the call with this errno."""
    return [(_RETURN, 0, 0, 0x00050000 | error)]


def _argument(index: int) -> Instruction:
    """Load the lower 32 bits of an argument: the kernel takes every argument that is tested here as an `int`."""
    return (_LOAD, 0, 0, 16 + 8 * index)


def _if_equal(value: int, then: InstructionBlock, otherwise: InstructionBlock) -> InstructionBlock:
    return [(_EQUAL, 0, len(then), value), *then, *otherwise]


def _if_any_bit(mask: int, then: InstructionBlock, otherwise: InstructionBlock) -> InstructionBlock:
    return [(_ANY_BIT, 0, len(then), mask), *then, *otherwise]


def _allow_values(index: int, *values: int, then: InstructionBlock = ALLOW) -> InstructionBlock:
    """Deny the call unless the argument is one of these."""
    block = _deny()
    for value in values:
        block = _if_equal(value, then, block)
    return [_argument(index), *block]


def _if_null(index: int, then: InstructionBlock, otherwise: InstructionBlock) -> InstructionBlock:
    """Branch on a null pointer. It is an address, so both halves are compared."""
    upper_half = (_LOAD, 0, 0, 16 + 8 * index + 4)
    return [_argument(index), *_if_equal(0, [upper_half, *_if_equal(0, then, otherwise)], otherwise)]


def _deny_values(index: int, *values: int) -> InstructionBlock:
    """Deny the call if the argument is one of these."""
    block = ALLOW
    for value in values:
        block = _if_equal(value, _deny(), block)
    return [_argument(index), *block]


def _deny_bits(index: int, mask: int) -> InstructionBlock:
    """Deny the call if the argument has one of these bits set."""
    return [_argument(index), *_if_any_bit(mask, _deny(), ALLOW)]


_POWERS = (
    "io_uring_setup io_uring_enter io_uring_register ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp "
    "process_madvise process_mrelease move_pages migrate_pages "
    "mount umount2 pivot_root chroot move_mount open_tree open_tree_attr fsopen fsconfig fsmount fspick mount_setattr "
    "unshare setns swapon swapoff quotactl quotactl_fd acct open_by_handle_at fanotify_init vhangup "
    "bpf perf_event_open userfaultfd keyctl add_key request_key "
    "init_module finit_module delete_module kexec_load kexec_file_load reboot syslog uselib _sysctl "
    "settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname iopl ioperm modify_ldt"
).split()
"""Calls that bypass the other restrictions, or administer the machine. No command of an agent needs one of these."""

_METADATA = (
    "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat utimensat file_setattr "
    "setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat"
).split()
"""Changes of metadata, which Landlock allows on any file of the user."""

_SHARED = (
    "shmget shmat shmctl semget semop semctl semtimedop msgget msgsnd msgrcv msgctl "
    "mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr"
).split()
"""Shared memory and message queues, which other programs of the user share. A queue in /dev/mqueue can be opened like
any file, but only these calls take messages from it."""

_SET_MODE = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1, "mknod": 1, "mknodat": 2}
"""Calls that set the mode of a file, except `open`, with the index of that argument. `mkdir` ignores the set-user-ID
bit."""

_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_TERMINAL = (_TIOCSTI, _TIOCLINUX)
"""Requests that insert input into a terminal as if its user had typed it."""
_OF_FILES, _KIND = (0x58, 0x66, 0x72, 0x76, 0x94, 0x97, 0xCF, 0xF5), 0xFF00
"""Types of ioctl requests with which file systems change files, or create and delete whole trees, through a descriptor
that is open for reading only: flags, versions, attributes, encryption, verity, subvolumes."""
_READING_IOCTLS = (0x80086601, 0x80046601, 0x80087601, 0x80047601, 0x801C581F, 0xC020660B, 0x80047210, 0x81009431)
"""Requests of these types that only read: GETFLAGS, GETVERSION, FSGETXATTR, FIEMAP, FAT's GET_ATTRIBUTES,
GETFSLABEL."""


def _sockets(sockets: Sockets, *, unix: bool) -> InstructionBlock:
    block = _deny()
    if sockets == "internet":
        for family in (_AF_INET, _AF_INET6, _AF_NETLINK):
            block = _if_equal(family, ALLOW, block)
    elif sockets == "tcp":
        protocol = [_argument(2), *_if_equal(0, ALLOW, _if_equal(_IPPROTO_TCP, ALLOW, _deny()))]  # not MPTCP
        tcp = [_argument(1), (_AND, 0, 0, _SOCK_KIND), *_if_equal(_SOCK_STREAM, protocol, _deny())]
        block = _if_equal(_AF_INET, tcp, _if_equal(_AF_INET6, tcp, block))
    if unix:
        block = _if_equal(_AF_UNIX, ALLOW, block)
    return [_argument(0), *block]


def _pairs(*, unix: bool) -> InstructionBlock:
    """Allow only connected kinds of socket pairs. A datagram socket of a pair can send to any other address, so it is
    as powerful as `socket`."""
    if unix:
        return ALLOW
    kinds = _if_equal(_SOCK_STREAM, ALLOW, _if_equal(_SOCK_SEQPACKET, ALLOW, _deny()))
    return [_argument(1), (_AND, 0, 0, _SOCK_KIND), *kinds]


def _tag_stays() -> InstructionBlock:
    """Deny setting RLIMIT_LOCKS, the tag by which the keeper knows which run a process belongs to. Other limits may be
    lowered, and any limit may be read."""
    return [_argument(1), *_if_equal(_RLIMIT_LOCKS, _if_null(2, ALLOW, _deny()), ALLOW)]


def _ioctls(*, metadata: bool) -> InstructionBlock:
    if not metadata:
        return _deny_values(1, *_TERMINAL)
    block = ALLOW
    for kind in _OF_FILES:
        block = _if_equal(kind << 8, _deny(), block)
    block = [(_AND, 0, 0, _KIND), *block]
    for request in _READING_IOCTLS:
        block = _if_equal(request, ALLOW, block)
    for request in _TERMINAL:
        block = _if_equal(request, _deny(), block)
    return [_argument(1), *block]


def _futexes() -> InstructionBlock:
    """Deny requeueing on shared futexes. Read access is enough to wait in memory that a file backs: a command could
    move the waiters of other programs to a futex that no process wakes. Programs requeue only among their own
    threads."""
    block = ALLOW
    for command in _FUTEX_REQUEUES:
        block = _if_equal(command, _deny(_ENOSYS), block)
    return [_argument(1), *_if_any_bit(_FUTEX_PRIVATE, ALLOW, [(_AND, 0, 0, _FUTEX_COMMAND), *block])]


def _opens(index: int, *, truncation: bool, set_user_id: bool) -> InstructionBlock:
    """Build the block for `open` or `openat`. `index` is the argument with the flags, which the mode follows.

    `truncation`: deny opening for reading with O_TRUNC, which Landlock before ABI 3 treats as reading; and O_TRUNC with
    access mode 3, which opens for neither reading nor writing and which it treats as no access at all.
    `set_user_id`: deny creating a file with the set-user-ID bit."""
    block = ALLOW
    if set_user_id:
        block = _if_any_bit(_O_MAKES_FILE, _deny_bits(index + 1, _S_ISUID), ALLOW)
    if truncation:
        others = _if_equal(0, _deny(), _if_equal(_O_ACCMODE, _deny(), [_argument(index), *block]))
        block = _if_any_bit(_O_TRUNC, [(_AND, 0, 0, _O_ACCMODE), *others], block)
    return [_argument(index), *block]


def rules(
    *,
    sockets: Sockets,
    unix: bool,
    metadata: bool,
    shared: bool,
    truncation: bool,
    pinning: bool = False,
    passing: bool = False,
) -> dict[str, InstructionBlock]:
    """Return the block of instructions for each system call that is not simply allowed, by name.

    True for `unix` allows unix sockets. True for the others denies: `metadata` changes, `shared` memory, `truncation`,
    `pinning` memory in pipes, `passing` descriptors between processes. If `metadata` is False, only setting the
    set-user-ID bit is denied."""
    found = dict.fromkeys(_POWERS, _deny())
    found["clone3"] = _deny(_ENOSYS)  # a filter cannot read its flags; on ENOSYS libc uses `clone`
    found["clone"] = _deny_bits(0, _NAMESPACES)
    found["socket"] = _sockets(sockets, unix=unix)
    found["socketpair"] = _allow_values(0, _AF_UNIX, then=_pairs(unix=unix))
    found["fcntl"] = _deny_values(1, _F_SETLEASE)  # a lease needs read access only, and keeps others from writing
    found["ioctl"] = _ioctls(metadata=metadata)
    # Priorities and limits of processes outside: these calls take a PID or a process group, where 0 is the caller's.
    # PRIO_USER stays denied: there, 0 would mean every process of the caller's user.
    found["setpriority"] = _allow_values(1, 0, then=_allow_values(0, _PRIO_PROCESS, _PRIO_PGRP))
    found["ioprio_set"] = _allow_values(1, 0, then=_allow_values(0, _IOPRIO_WHO_PROCESS, _IOPRIO_WHO_PGRP))
    found["prlimit64"] = _allow_values(0, 0, then=_tag_stays())
    found["setrlimit"] = _deny_values(0, _RLIMIT_LOCKS)
    for name in ("sched_setparam", "sched_setscheduler", "sched_setattr", "sched_setaffinity"):
        found[name] = _allow_values(0, 0)
    if sockets == "tcp":  # MSG_FASTOPEN sends data without `connect`, which is what Landlock checks
        found["sendto"] = found["sendmmsg"] = _deny_bits(3, _MSG_FASTOPEN)
        found["sendmsg"] = _deny_bits(2, _MSG_FASTOPEN)
        if not unix:  # without `bind`, which Landlock checks, it chooses a free port
            found["listen"] = _deny()
    if sockets != "internet" and not unix:
        found["bind"] = _deny()  # a socket of a pair could take an abstract name that a service outside needs
    found["futex"] = _futexes()
    found["futex_requeue"] = _deny(_ENOSYS)
    if metadata:
        found |= dict.fromkeys(_METADATA, _deny())
    else:  # a set-user-ID file of root left in a workspace gives root's privileges to any user who runs it
        found |= {name: _deny_bits(index, _S_ISUID) for name, index in _SET_MODE.items()}
    if shared:
        found |= dict.fromkeys(_SHARED, _deny())
    if pinning:  # one byte pins a huge page that no process has mapped; programs fall back to `write`
        found["vmsplice"] = _deny(_ENOSYS)
    if passing:  # a filter cannot see whether a message has descriptors; otherwise `send` and `write` suffice
        found["sendmsg"] = found["sendmmsg"] = _deny()
    if truncation:
        found["truncate"] = _deny()
    if truncation or not metadata:  # a filter cannot read flags and mode of `openat2`; programs fall back
        found["openat2"] = _deny(_ENOSYS)
        found["open"] = _opens(1, truncation=truncation, set_user_id=not metadata)
        found["openat"] = _opens(2, truncation=truncation, set_user_id=not metadata)
    return found


@lru_cache(maxsize=32)
def program(
    machine: str,
    *,
    sockets: Sockets,
    unix: bool,
    metadata: bool,
    shared: bool,
    truncation: bool,
    pinning: bool = False,
    passing: bool = False,
) -> bytes:
    """Return the filter as the bytes of an array of `struct sock_filter`. The arguments are those of `rules`."""
    numbers = NUMBERS[machine]
    wanted = rules(
        sockets=sockets,
        unix=unix,
        metadata=metadata,
        shared=shared,
        truncation=truncation,
        pinning=pinning,
        passing=passing,
    )
    leaves = sorted((numbers[name], block) for name, block in wanted.items() if name in numbers)
    tree = _search(leaves)
    if machine == "x86_64":
        tree = [(_AT_LEAST, 0, 1, _X32), *_deny(_ENOSYS), *tree]
    whole = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, ARCHITECTURES[machine]),
        *_KILL,
        (_LOAD, 0, 0, _NUMBER),
        *tree,
    ]
    return b"".join(struct.pack("HBBI", *instruction) for instruction in whole)


def _search(leaves: Sequence[tuple[int, InstructionBlock]]) -> InstructionBlock:
    """Build a binary search tree: a linear list would slow down every system call of every program."""
    if len(leaves) == 1:
        number, block = leaves[0]
        return _if_equal(number, block, ALLOW)
    middle = len(leaves) // 2
    left, right = _search(leaves[:middle]), _search(leaves[middle:])
    return [(_AT_LEAST, 0, 1, leaves[middle][0]), (_JUMP, 0, 0, len(left)), *left, *right]
