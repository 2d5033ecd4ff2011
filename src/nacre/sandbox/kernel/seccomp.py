"""What must not be asked of the kernel, as a program that the kernel itself runs before every system call. Pure.

Landlock speaks of files, TCP and signals; this closes the rest. A program is a search tree over the numbers of the
calls that matter, each leaf a few tests of the arguments; everything else is allowed. It fails with an error that
programs know how to take, and ends a program only when it speaks for another architecture, where numbers mean
something else.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

from nacre.sandbox.kernel.syscalls import ARCHITECTURES, NUMBERS

Sockets: TypeAlias = Literal["none", "tcp", "internet"]
"""What may be opened beside socket pairs: nothing, TCP (to ports that Landlock names), anything that reaches the
network."""

_EPERM, _ENOSYS = 1, 38
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_SOCK_STREAM, _SOCK_SEQPACKET, _SOCK_KIND = 1, 5, 0xF
_IPPROTO_TCP = 6
_MSG_FASTOPEN = 0x20000000
_NAMESPACES = 0x7E020000
"""Every CLONE_NEW… but the one for time, which `clone` cannot make."""
_O_ACCMODE, _O_TRUNC = 0o3, 0o1000
_O_MAKES_FILE = 0o100 | 0o20000000
"""O_CREAT, and the bit that only O_TMPFILE has: without these the mode is not looked at, and may be anything."""
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
    return [(_RETURN, 0, 0, 0x00050000 | error)]


def _argument(index: int) -> Instruction:
    """Its lower half: everything we look at is an `int` to the kernel."""
    return (_LOAD, 0, 0, 16 + 8 * index)


def _if_equal(value: int, then: InstructionBlock, otherwise: InstructionBlock) -> InstructionBlock:
    return [(_EQUAL, 0, len(then), value), *then, *otherwise]


def _if_any_bit(mask: int, then: InstructionBlock, otherwise: InstructionBlock) -> InstructionBlock:
    return [(_ANY_BIT, 0, len(then), mask), *then, *otherwise]


def _allow_values(index: int, *values: int, then: InstructionBlock = ALLOW) -> InstructionBlock:
    """Denied unless the argument is one of these."""
    block = _deny()
    for value in values:
        block = _if_equal(value, then, block)
    return [_argument(index), *block]


def _if_null(index: int, then: InstructionBlock, otherwise: InstructionBlock) -> InstructionBlock:
    """An address, so both halves of it."""
    upper_half = (_LOAD, 0, 0, 16 + 8 * index + 4)
    return [_argument(index), *_if_equal(0, [upper_half, *_if_equal(0, then, otherwise)], otherwise)]


def _deny_values(index: int, *values: int) -> InstructionBlock:
    """Denied if the argument is one of these."""
    block = ALLOW
    for value in values:
        block = _if_equal(value, _deny(), block)
    return [_argument(index), *block]


def _deny_bits(index: int, mask: int) -> InstructionBlock:
    """Denied if the argument has one of these bits."""
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
"""Ways round everything else, or matters of the machine. No command of an agent needs one of these."""

_METADATA = (
    "chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat utimensat file_setattr "
    "setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat"
).split()
"""Landlock lets these pass on any file of the user."""

_SHARED = (
    "shmget shmat shmctl semget semop semctl semtimedop msgget msgsnd msgrcv msgctl "
    "mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr"
).split()
"""Memory and queues that other programs of the user share. A queue in /dev/mqueue can be opened like any file, and only
these calls take messages from it."""

_SET_MODE = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1, "mknod": 1, "mknodat": 2}
"""Calls that give a file its mode, beside `open`, and which argument that is. `mkdir` takes no set-user-ID bit."""

_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_TERMINAL = (_TIOCSTI, _TIOCLINUX)
"""Typing into a terminal on its user's behalf."""
_OF_FILES, _KIND = (0x58, 0x66, 0x72, 0x76, 0x94, 0x97, 0xCF, 0xF5), 0xFF00
"""Kinds of requests with which file systems change files, or make and delete whole trees, through a descriptor that is
only readable: flags, versions, attributes, encryption, verity, subvolumes."""
_READING_IOCTLS = (0x80086601, 0x80046601, 0x80087601, 0x80047601, 0x801C581F, 0xC020660B, 0x80047210, 0x81009431)
"""Those of them that only ask: GETFLAGS, GETVERSION, FSGETXATTR, FIEMAP, FAT's GET_ATTRIBUTES, GETFSLABEL."""


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
    """A pair of datagram sockets may send to any other address too: it is as good as `socket`."""
    if unix:
        return ALLOW
    kinds = _if_equal(_SOCK_STREAM, ALLOW, _if_equal(_SOCK_SEQPACKET, ALLOW, _deny()))
    return [_argument(1), (_AND, 0, 0, _SOCK_KIND), *kinds]


def _tag_stays() -> InstructionBlock:
    """Other limits may be lowered, and any be asked for. This one is how the keeper knows whose a process is."""
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
    """Waiting in memory that a file backs takes no more than to read that file: a command could move those who wait
    there to a place where nobody wakes them. Programs only do this among their own threads."""
    block = ALLOW
    for command in _FUTEX_REQUEUES:
        block = _if_equal(command, _deny(_ENOSYS), block)
    return [_argument(1), *_if_any_bit(_FUTEX_PRIVATE, ALLOW, [(_AND, 0, 0, _FUTEX_COMMAND), *block])]


def _opens(index: int, *, truncation: bool, set_user_id: bool) -> InstructionBlock:
    """`truncation`: deny reading and truncating in one call, which old Landlocks take for reading; and truncating with
    the fourth access mode, which opens for neither reading nor writing, and which they take for nothing at all.
    `set_user_id`: deny making a file that has this bit; the mode follows the flags."""
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
    """By the name of the call. True opens `unix` sockets, and closes `metadata`, `shared` memory, `truncation`,
    `pinning` of memory in pipes, `passing` of descriptors. Where metadata is open, the set-user-ID bit is closed."""
    found = dict.fromkeys(_POWERS, _deny())
    found["clone3"] = _deny(_ENOSYS)  # its flags are out of sight; without it the C library uses `clone`
    found["clone"] = _deny_bits(0, _NAMESPACES)
    found["socket"] = _sockets(sockets, unix=unix)
    found["socketpair"] = _allow_values(0, _AF_UNIX, then=_pairs(unix=unix))
    found["fcntl"] = _deny_values(1, _F_SETLEASE)  # on a file that is only read it keeps everybody else from writing
    found["ioctl"] = _ioctls(metadata=metadata)
    # priorities and limits of processes outside: these take a process number, and 0 is the caller; or the caller's
    # user, with all that belongs to him, where it is said so
    found["setpriority"] = _allow_values(1, 0, then=_allow_values(0, _PRIO_PROCESS, _PRIO_PGRP))
    found["ioprio_set"] = _allow_values(1, 0, then=_allow_values(0, _IOPRIO_WHO_PROCESS, _IOPRIO_WHO_PGRP))
    found["prlimit64"] = _allow_values(0, 0, then=_tag_stays())
    found["setrlimit"] = _deny_values(0, _RLIMIT_LOCKS)
    for name in ("sched_setparam", "sched_setscheduler", "sched_setattr", "sched_setaffinity"):
        found[name] = _allow_values(0, 0)
    if sockets == "tcp":  # data with the first packet needs no `connect`, which is all that Landlock watches
        found["sendto"] = found["sendmmsg"] = _deny_bits(3, _MSG_FASTOPEN)
        found["sendmsg"] = _deny_bits(2, _MSG_FASTOPEN)
        if not unix:  # without `bind`, which Landlock watches, it picks a port by itself
            found["listen"] = _deny()
    if sockets != "internet" and not unix:
        found["bind"] = _deny()  # one of a pair could take an abstract name that a service outside needs
    found["futex"] = _futexes()
    found["futex_requeue"] = _deny(_ENOSYS)
    if metadata:
        found |= dict.fromkeys(_METADATA, _deny())
    else:  # a set-user-ID file of root's that stays in a workspace makes root of whoever runs it
        found |= {name: _deny_bits(index, _S_ISUID) for name, index in _SET_MODE.items()}
    if shared:
        found |= dict.fromkeys(_SHARED, _deny())
    if pinning:  # one byte keeps a huge page of memory that no process has mapped; there is always `write`
        found["vmsplice"] = _deny(_ENOSYS)
    if passing:  # whether a message has descriptors is out of sight; without them there are `send` and `write`
        found["sendmsg"] = found["sendmmsg"] = _deny()
    if truncation:
        found["truncate"] = _deny()
    if truncation or not metadata:  # the flags and the mode of `openat2` are out of sight; programs have another way
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
    """As the kernel wants it."""
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
    """Half of the numbers at a time: a linear list would cost every call of every program."""
    if len(leaves) == 1:
        number, block = leaves[0]
        return _if_equal(number, block, ALLOW)
    middle = len(leaves) // 2
    left, right = _search(leaves[:middle]), _search(leaves[middle:])
    return [(_AT_LEAST, 0, 1, leaves[middle][0]), (_JUMP, 0, 0, len(left)), *left, *right]
