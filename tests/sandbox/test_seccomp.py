"""Answers of the seccomp filter to all relevant calls, on both architectures. Its program is interpreted here."""

from __future__ import annotations

import itertools
import struct
from typing import Any, get_args

import pytest

from nacre.sandbox.kernel.seccomp import Sockets, program, rules
from nacre.sandbox.kernel.syscalls import ARCHITECTURES, NUMBERS
from tests.support.bpf import check, decide, instructions, word

MACHINES = tuple(ARCHITECTURES)
KINDS: tuple[Sockets, ...] = get_args(Sockets)
VARIANTS: list[dict[str, Any]] = [
    {"sockets": kind, "unix": unix, "metadata": metadata, "shared": shared, "truncation": truncation}
    for kind, unix, metadata, shared, truncation in itertools.product(KINDS, *[(False, True)] * 4)
]
UNIX, INET, INET6, NETLINK, PACKET, VSOCK, ALG = 1, 2, 10, 16, 17, 40, 38
STREAM, DGRAM, RAW, SEQPACKET, CLOEXEC, NONBLOCK = 1, 2, 3, 5, 0o2000000, 0o4000
TCP, UDP, SMC, MPTCP = 6, 17, 256, 262
FASTOPEN = 0x20000000
RDONLY, WRONLY, RDWR, NEITHER, CREAT, TRUNC = 0, 1, 2, 3, 0o100, 0o1000

ELSEWHERE = {"x86_64": 0x40000003, "aarch64": 0x40000028}
"""The 32-bit architecture that the same processor runs."""

# never named in a filter: calls that every program makes
PLAIN = {
    "x86_64": {"read": 0, "write": 1, "close": 3, "mmap": 9, "kill": 62, "execve": 59, "wait4": 61, "pipe2": 293},
    "aarch64": {"read": 63, "write": 64, "close": 57, "mmap": 222, "kill": 129, "execve": 221, "wait4": 260},
}


class Filter:
    """A filter program, queried by the names of calls."""

    def __init__(self, machine: str, **variant: Any) -> None:
        variant = {"sockets": "none", "unix": False, "metadata": True, "shared": True, "truncation": True, **variant}
        self.machine = machine
        self.code = program(machine, **variant)

    def __call__(self, name: str, *arguments: int) -> str:
        return self.number(NUMBERS[self.machine][name], *arguments)

    def number(self, number: int, *arguments: int) -> str:
        return word(decide(self.code, ARCHITECTURES[self.machine], number, *arguments))


def answer_of_rule(block: list[tuple[int, int, int, int]], *arguments: int) -> str:
    """Return the answer of one rule alone, without the tree around it."""
    return word(decide(b"".join(struct.pack("=HBBI", *each) for each in block), 0, 0, *arguments))


# every call by its number


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: "-".join(map(str, variant.values())))
def test_decision_tree_leads_each_syscall_to_its_own_rule(machine: str, variant: dict[str, Any]) -> None:
    asked, leaves = Filter(machine, **variant), rules(**variant)
    names = {number: name for name, number in NUMBERS[machine].items() if name in leaves}
    samples = [(0,) * 6, (2, 1, 6, FASTOPEN, 0, 0), (1, TRUNC, TRUNC, 0, 0, 0)]
    for number in range(480):
        for arguments in samples:
            expected = answer_of_rule(leaves[names[number]], *arguments) if number in names else "allow"
            assert asked.number(number, *arguments) == expected, (number, names.get(number), arguments)


@pytest.mark.parametrize("machine", MACHINES)
def test_every_filter_program_is_valid_for_the_kernel(machine: str) -> None:
    for variant in VARIANTS:
        code = program(machine, **variant)
        check(code)
        assert len(instructions(code)) < 1000


@pytest.mark.parametrize("machine", MACHINES)
def test_syscall_without_a_rule_is_decided_in_few_steps(machine: str) -> None:
    """A tree, not a list: a call without a rule passes a handful of tests."""
    code = instructions(Filter(machine).code)
    place = steps = 0
    number = PLAIN[machine]["read"]
    while code[place].code != 0x06:
        each = code[place]
        place += 1
        steps += 1
        if each.code == 0x05:
            place += each.operand
        elif each.code in (0x15, 0x35):
            value = ARCHITECTURES[machine] if steps == 2 else number
            holds = value == each.operand if each.code == 0x15 else value >= each.operand
            place += each.if_true if holds else each.if_false
    assert steps < 25


# foreign architectures


@pytest.mark.req("P-008")
@pytest.mark.parametrize("machine", MACHINES)
def test_syscall_of_another_architecture_is_killed(machine: str) -> None:
    code = Filter(machine).code
    others = {ELSEWHERE[machine], *ARCHITECTURES.values(), 0, 0xFFFFFFFF} - {ARCHITECTURES[machine]}
    for other in others:
        assert {word(decide(code, other, number)) for number in range(500)} == {"kill"}


@pytest.mark.req("P-008")
def test_x32_syscalls_do_not_exist() -> None:
    """Their numbers would match no rule, and their arguments have another meaning."""
    asked = Filter("x86_64")
    numbers = [0x40000000 | number for number in range(600)] + [0xFFFFFFFF, 0x80000000]
    assert {asked.number(number) for number in numbers} == {"ENOSYS"}


# never allowed

POWERS = """
    io_uring_setup io_uring_enter io_uring_register ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp
    mount umount2 pivot_root chroot move_mount open_tree fsopen fsconfig fsmount fspick mount_setattr unshare setns
    open_by_handle_at fanotify_init bpf perf_event_open userfaultfd keyctl add_key request_key
    init_module finit_module delete_module kexec_load kexec_file_load reboot syslog swapon swapoff acct quotactl
    settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname
""".split()
ONLY_X86 = ("iopl", "ioperm", "modify_ldt", "uselib", "_sysctl")
METADATA = """
    fchmod fchmodat fchmodat2 fchown fchownat utimensat setxattr lsetxattr fsetxattr setxattrat
    removexattr lremovexattr fremovexattr removexattrat file_setattr
""".split()
METADATA_X86 = ("chmod", "chown", "lchown", "utime", "utimes", "futimesat")
SHARED = """
    shmget shmat shmctl semget semop semctl semtimedop msgget msgsnd msgrcv msgctl
    mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr
""".split()


@pytest.mark.req("P-008")
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("sockets", KINDS)
def test_privileged_syscalls_are_refused_in_every_variant(machine: str, sockets: Sockets) -> None:
    asked = Filter(machine, sockets=sockets, metadata=False, shared=False, truncation=False)
    names = [*POWERS, *(ONLY_X86 if machine == "x86_64" else ())]
    assert {name: asked(name) for name in names} == dict.fromkeys(names, "EPERM")


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("closed", [True, False])
def test_metadata_shared_memory_and_truncation_are_closed_on_request(machine: str, closed: bool) -> None:
    asked = Filter(machine, metadata=closed, shared=closed, truncation=closed)
    names = [*METADATA, *SHARED, "truncate", *(METADATA_X86 if machine == "x86_64" else ())]
    assert {name: asked(name) for name in names} == dict.fromkeys(names, "EPERM" if closed else "allow")


@pytest.mark.parametrize("machine", MACHINES)
def test_everyday_syscalls_are_allowed(machine: str) -> None:
    asked = Filter(machine)
    assert {name: asked.number(number) for name, number in PLAIN[machine].items()} == dict.fromkeys(
        PLAIN[machine], "allow"
    )


# sockets

CASES: list[tuple[tuple[int, int, int], set[Sockets]]] = [
    ((INET, STREAM, 0), {"tcp", "internet"}),
    ((INET, STREAM | CLOEXEC | NONBLOCK, TCP), {"tcp", "internet"}),
    ((INET6, STREAM, 0), {"tcp", "internet"}),
    ((INET6, STREAM, TCP), {"tcp", "internet"}),
    ((INET, STREAM, MPTCP), {"internet"}),
    ((INET6, STREAM, MPTCP), {"internet"}),
    ((INET, STREAM, SMC), {"internet"}),
    ((INET, DGRAM, 0), {"internet"}),
    ((INET6, DGRAM | CLOEXEC, UDP), {"internet"}),
    ((INET, DGRAM, 1), {"internet"}),
    ((INET, RAW, 255), {"internet"}),
    ((INET, 5, 132), {"internet"}),
    ((NETLINK, RAW, 0), {"internet"}),
    ((PACKET, RAW, 3), set()),
    ((VSOCK, STREAM, 0), set()),
    ((ALG, 5, 0), set()),
    ((43, STREAM, 0), set()),
    ((0, STREAM, 0), set()),
]


@pytest.mark.req("P-008")
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("sockets", KINDS)
def test_only_sockets_of_the_requested_kind_can_be_opened(machine: str, sockets: Sockets) -> None:
    asked = Filter(machine, sockets=sockets)
    for arguments, kinds in CASES:
        expected = "allow" if sockets in kinds else "EPERM"
        assert asked("socket", *arguments) == expected, arguments
        high = tuple(argument | 1 << 32 for argument in arguments)  # the kernel cuts the upper half off
        assert asked("socket", *high) == expected, arguments


@pytest.mark.req("P-008")
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("sockets", KINDS)
@pytest.mark.parametrize("unix", [False, True])
def test_unix_sockets_are_allowed_independently_of_other_sockets(machine: str, sockets: Sockets, unix: bool) -> None:
    asked = Filter(machine, sockets=sockets, unix=unix)
    for kind in (STREAM, DGRAM, SEQPACKET, DGRAM | CLOEXEC):
        assert asked("socket", UNIX, kind, 0) == ("allow" if unix else "EPERM")


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("sockets", KINDS)
@pytest.mark.parametrize("unix", [False, True])
def test_connected_unix_socketpair_is_always_allowed(machine: str, sockets: Sockets, unix: bool) -> None:
    asked = Filter(machine, sockets=sockets, unix=unix)
    assert {asked("socketpair", UNIX, kind, 0) for kind in (STREAM, SEQPACKET, STREAM | CLOEXEC)} == {"allow"}
    assert asked("socketpair", UNIX, DGRAM, 0) == ("allow" if unix else "EPERM")
    assert {asked("socketpair", family, STREAM, 0) for family in (INET, INET6, NETLINK, 30)} == {"EPERM"}


@pytest.mark.parametrize("machine", MACHINES)
def test_file_leases_are_refused(machine: str) -> None:
    asked = Filter(machine)
    assert asked("fcntl", 3, 1024, 0) == "EPERM"
    assert {asked("fcntl", 3, command, 0) for command in (0, 1, 2, 3, 4, 1025, 1030, 1033)} == {"allow"}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("sockets", KINDS)
def test_fast_open_is_refused_with_named_ports(machine: str, sockets: Sockets) -> None:
    asked = Filter(machine, sockets=sockets)
    expected = "EPERM" if sockets == "tcp" else "allow"
    assert asked("sendto", 3, 0, 0, FASTOPEN | 0x4000) == expected
    assert asked("sendmmsg", 3, 0, 1, FASTOPEN) == expected
    assert asked("sendmsg", 3, 0, FASTOPEN) == expected
    assert {asked("sendto", 3, 0, FASTOPEN, 0x4000), asked("sendmsg", 3, FASTOPEN, 0x4000)} == {"allow"}


# arguments


@pytest.mark.parametrize("machine", MACHINES)
def test_clone_with_namespace_flags_is_refused(machine: str) -> None:
    asked = Filter(machine)
    spaces = {"ns": 0x20000, "cgroup": 1 << 25, "uts": 1 << 26, "ipc": 1 << 27, "user": 1 << 28, "pid": 1 << 29}
    spaces |= {"net": 1 << 30}
    assert {name: asked("clone", flag | 17) for name, flag in spaces.items()} == dict.fromkeys(spaces, "EPERM")
    fork, thread, vfork = 0x1200011, 0x3D0F00, 0x4111
    assert {asked("clone", flags) for flags in (fork, thread, vfork)} == {"allow"}
    assert asked("clone3") == "ENOSYS", (
        "the filter cannot read its flags from memory; on ENOSYS the C library uses `clone`"
    )


@pytest.mark.parametrize("machine", MACHINES)
def test_limits_and_priority_of_other_processes_cannot_be_set(machine: str) -> None:
    asked = Filter(machine)
    at = {"prlimit64": 0, "setpriority": 1, "ioprio_set": 1}
    at |= dict.fromkeys(("sched_setparam", "sched_setscheduler", "sched_setattr", "sched_setaffinity"), 0)
    for name, index in at.items():
        own, others = [1, 1, 7], [1, 1, 7]
        own[index], others[index] = 0, 4321
        assert (asked(name, *own), asked(name, *others)) == ("allow", "EPERM"), name
    # all of the user's processes
    assert (asked("setpriority", 2, 0, 7), asked("ioprio_set", 3, 0, 7)) == ("EPERM", "EPERM")


@pytest.mark.parametrize("machine", MACHINES)
def test_tag_limit_cannot_be_changed(machine: str) -> None:
    asked = Filter(machine)
    locks, other, somewhere = 10, 7, 0x7F00_1234_0000
    assert asked("prlimit64", 0, locks, somewhere, 0) == "EPERM"
    assert {asked("prlimit64", 0, locks, 0, somewhere), asked("prlimit64", 0, other, somewhere, 0)} == {"allow"}
    assert asked("setrlimit", locks, somewhere) == "EPERM"
    assert asked("setrlimit", other, somewhere) == "allow"


REQUESTS = {
    "TIOCSTI": 0x5412,
    "TIOCLINUX": 0x541C,
}
ON_FILES = {
    "FS_IOC_SETFLAGS": 0x40086602,
    "FS_IOC32_SETFLAGS": 0x40046602,
    "FS_IOC_FSSETXATTR": 0x401C5820,
    "FS_IOC_SETVERSION": 0x40087602,
    "FS_IOC_ENABLE_VERITY": 0x40806685,
    "BTRFS_IOC_SNAP_CREATE": 0x50009401,
    "BTRFS_IOC_SUBVOL_CREATE": 0x5000940E,
    "BTRFS_IOC_SNAP_DESTROY": 0x5000940F,
}
HARMLESS = {
    "TCGETS": 0x5401,
    "TIOCGWINSZ": 0x5413,
    "FIONREAD": 0x541B,
    "FIONBIO": 0x5421,
    "FS_IOC_GETFLAGS": 0x80086601,
}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("metadata", [True, False])
def test_ioctls_that_inject_input_or_change_files_are_refused(machine: str, metadata: bool) -> None:
    asked = Filter(machine, metadata=metadata)
    for name, request in REQUESTS.items():
        assert asked("ioctl", 0, request) == asked("ioctl", 0, request | 1 << 32) == "EPERM", name
    for name, request in ON_FILES.items():
        assert asked("ioctl", 3, request) == ("EPERM" if metadata else "allow"), name
    for name, request in HARMLESS.items():
        assert asked("ioctl", 3, request) == "allow", name
    assert asked("ioctl", 0x5412, 0x5401) == "allow", "only the second argument is the request"


@pytest.mark.req("P-008")
@pytest.mark.parametrize("machine", MACHINES)
def test_truncation_on_open_is_allowed_only_with_write_access(machine: str) -> None:
    """Landlock before ABI 3 controls only files that are opened for writing."""
    asked, free = Filter(machine), Filter(machine, truncation=False)
    calls = {"openat": 2} | ({"open": 1} if machine == "x86_64" else {})
    for name, index in calls.items():

        def check_open(flags: int, *, name: str = name, index: int = index, asked: Filter = asked) -> str:
            return asked(name, *[0] * index, flags)

        assert {check_open(flags | TRUNC | CREAT) for flags in (WRONLY, RDWR)} == {"allow"}
        assert {check_open(flags) for flags in (RDONLY, WRONLY, RDWR, RDONLY | CREAT)} == {"allow"}
        assert check_open(RDONLY | TRUNC) == check_open(RDONLY | TRUNC | 0o2000000) == "EPERM"
        assert check_open(NEITHER | TRUNC) == "EPERM", "the fourth access mode neither reads nor writes, but truncates"
        assert check_open(RDONLY | TRUNC, asked=free) == "allow"
    assert asked("openat2") == "ENOSYS"
    assert free("openat2") == "allow"


TMPFILE = 0o20200000
MODES = {"openat": (2, 3), "fchmod": (None, 1), "fchmodat": (None, 2), "fchmodat2": (None, 2), "mknodat": (None, 2)}
MODES_X86 = {"open": (1, 2), "chmod": (None, 1), "creat": (None, 1), "mknod": (None, 1)}
"""For each call, the index of its flags argument, or None, and of its mode argument."""


@pytest.mark.req("P-008")
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("truncation", [True, False])
def test_set_user_id_bit_is_refused_where_modes_may_change(machine: str, truncation: bool) -> None:
    asked = Filter(machine, metadata=False, truncation=truncation)

    def call_with_mode(name: str, flags_at: int | None, mode_at: int, *, flags: int, mode: int) -> str:
        arguments = [0] * 6
        arguments[mode_at] = mode
        if flags_at is not None:
            arguments[flags_at] = flags
        return asked(name, *arguments)

    for name, places in {**MODES, **(MODES_X86 if machine == "x86_64" else {})}.items():
        for flags in (CREAT | WRONLY, CREAT | RDWR | TRUNC, CREAT, TMPFILE | RDWR):
            for mode in (0o4755, 0o6711, 0o4000):
                assert call_with_mode(name, *places, flags=flags, mode=mode) == "EPERM", name
            for mode in (0o644, 0o2775, 0o1777):
                assert call_with_mode(name, *places, flags=flags, mode=mode) == "allow", name
        if places[0] is not None:
            assert call_with_mode(name, *places, flags=WRONLY | TRUNC, mode=0o7777) == "allow", (
                "without O_CREAT the kernel ignores the mode"
            )
    assert asked("openat2") == "ENOSYS", "the filter cannot read its mode from memory; on ENOSYS programs use `openat`"


@pytest.mark.req("P-008")
@pytest.mark.parametrize("machine", MACHINES)
def test_futex_requeue_is_refused_for_shared_futexes(machine: str) -> None:
    asked = Filter(machine)
    private, clock = 0x80, 0x100
    moving, others = (3, 4, 11, 12), (0, 1, 5, 6, 7, 8, 9, 10, 13)
    assert {asked("futex", 0, each | flag) for each in moving for flag in (0, clock)} == {"ENOSYS"}
    assert {asked("futex", 0, each | private) for each in (*moving, *others)} == {"allow"}
    assert {asked("futex", 0, each | flag) for each in others for flag in (0, clock)} == {"allow"}
    assert asked("futex_requeue") == "ENOSYS"


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("sockets", KINDS)
@pytest.mark.parametrize("unix", [False, True])
def test_bind_is_allowed_only_with_unix_or_internet_sockets(machine: str, sockets: Sockets, unix: bool) -> None:
    expected = "allow" if unix or sockets == "internet" else "EPERM"
    assert Filter(machine, sockets=sockets, unix=unix)("bind") == expected
