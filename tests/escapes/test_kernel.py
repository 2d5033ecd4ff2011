"""Escapes through the kernel: namespaces, mounts, other architectures, shared memory."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from nacre.result import Exited
from tests.escapes.inside import needs_landlock, python, run_restricted, run_unrestricted, tree
from tests.support.waiting import HANG_TIMEOUT_S

pytestmark = [pytest.mark.linux, pytest.mark.req("P-008"), needs_landlock]

BY_SHELL = {
    "user-namespace": "unshare -Ur true",
    "user-namespace-and-mounts": "unshare -Urm true",
    "mount-namespace": "unshare -m true",
    "network-namespace": "unshare -rn true",
    "process-namespace": "unshare -Urpf true",
    "enter": "nsenter -t $PPID -m true",
    "enter-own": "nsenter -t $$ -m true",
    "bind": "mount --bind . empty",
    "tmpfs": "mount -t tmpfs none empty",
    "remount": "mount -o remount,rw /",
    "chroot": "chroot . true",
    "bubblewrap": "bwrap --bind / / --dev /dev true",
    "setpriv": "setpriv --inh-caps=+all --ambient-caps=+all true",
    "hostname": 'hostname "$(hostname)"',
    "date": 'date -s @"$(date +%s)" >/dev/null',
}
"""Attempts by program. If they succeed outside, they change nothing there."""

CALLS = {
    **{f"clone-{flag:#x}": (56, 220, flag | 17, 0, 0, 0, 0) for flag in (1 << n for n in (17, *range(25, 31)))},
    **{f"unshare-{flag:#x}": (272, 97, flag) for flag in (0x80, *(1 << n for n in (17, *range(25, 31))))},
    "setns": (308, 268, 0, 0),
    "mount": (165, 40, 0, 0, 0, 0, 0),
    "umount": (166, 39, b"/nowhere", 0),
    "pivot-root": (155, 41, b".", b"."),
    "chroot": (161, 51, b"."),
    "open-tree": (428, 428, -100, b".", 1),
    "open-tree-attr": (467, 467, -100, b".", 1, 0, 0),
    "move-mount": (429, 429, -100, b".", -100, b".", 0),
    "fsopen": (430, 430, b"tmpfs", 0),
    "fsconfig": (431, 431, 0, 0, 0, 0, 0),
    "fsmount": (432, 432, 0, 0, 0),
    "fspick": (433, 433, -100, b".", 0),
    "mount-setattr": (442, 442, -100, b".", 0, bytes(32), 32),
    "bpf": (321, 280, 0, bytes(128), 128),
    "perf": (298, 241, bytes(128), 0, -1, -1, 0),
    "userfaultfd": (323, 282, 1),
    "add-key": (248, 217, b"user", b"x", b"x", 1, -2),
    "request-key": (249, 218, b"user", b"x", 0, 0),
    "keyctl": (250, 219, 0, -3, 0),
    "ptrace-me": (101, 117, 0, 0, 0, 0),
    "handle": (304, 265, -100, bytes(16), 0),
    "fanotify": (300, 262, 0, 0),
    "quota": (179, 60, 0, 0, 0, 0),
    "log": (103, 116, 10, 0, 0),
    "module": (175, 105, 0, 0, b""),
    "module-file": (313, 273, -1, b"", 0),
    "swapoff": (168, 225, b"/nowhere"),
    "acct": (163, 89, b"/nowhere"),
    "clock": (227, 112, 0, 0),
    "shared-memory": (29, 194, 0, 4096, 0o1600),
    "shared-memory-attached": (30, 196, 0, 0, 0),
    "semaphores": (64, 190, 0, 1, 0o1600),
    "messages": (68, 186, 0, 0o1600),
    "queue": (240, 180, b"nacre-test", os.O_CREAT | os.O_RDWR, 0o600, 0),
    "queue-removed": (241, 181, b"nacre-test"),
    "io-port": (173, None, 0, 1, 1),
    "ldt": (154, None, 1, 0, 0),
}


@pytest.mark.parametrize("attempt", BY_SHELL.values(), ids=BY_SHELL)
async def test_namespace_and_mount_programs_fail_in_restricted_mode(attempt: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    program = attempt.split()[0]
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    result = await run_restricted(attempt, tmp_path)
    assert result.outcome != Exited(0), result.output


async def test_seccomp_filter_refuses_each_dangerous_syscall() -> None:
    """The arguments do not matter: they would fail or do nothing without a filter, too."""
    program = f"""
        for name, numbers in {CALLS!r}.items():
            print(name, said(call, *numbers) if None not in numbers[:2] or here == "x86_64" else "EPERM")
    """
    result = await run_restricted(python(program))
    assert dict(line.split() for line in result.output.splitlines()) == dict.fromkeys(CALLS, "EPERM")


async def test_clone3_is_missing_but_threads_and_forks_work() -> None:
    threads = "import threading; t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()"
    result = await run_restricted(
        f"{python('print(said(call, 435, 435, bytes(88), 88))')}; {python(threads)}; (echo fork)"
    )
    assert result.output == "ENOSYS\nthread\nfork\n"


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="only x86_64 has x32")
async def test_x32_syscalls_do_not_exist() -> None:
    program = """
        numbers = (2, 41, 53, 90, 101, 165, 514, 521, 539, 540)
        print(*sorted({said(call, 0x40000000 | number, None, 0, 0, 0) for number in numbers}))
    """
    assert (await run_restricted(python(program))).output == "ENOSYS\n"


FOREIGN = """
    import mmap
    # push rbx; mov eax, 20 (getpid); int 0x80; pop rbx; ret
    code = b"\\x53\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\x5b\\xc3"
    memory = mmap.mmap(-1, 4096, prot=7)
    memory.write(code)
    ask = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    print(ask() == os.getpid(), flush=True)
    os._exit(0)
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the machine code is for x86_64")
async def test_syscall_of_another_architecture_kills_the_program() -> None:
    result = await run_restricted(python(FOREIGN) + "; echo $?")
    assert result.stdout == f"{128 + signal.SIGSYS}\n", result.output
    proof = await run_unrestricted(python(FOREIGN))
    if proof.stdout != "True\n":
        pytest.skip("this kernel has no 32-bit calls")


PROGRAM_32 = """
static int call(int number, const void *first, int second) {
    int answer;
    __asm__ volatile ("int $0x80" : "=a"(answer) : "a"(number), "b"(first), "c"(second) : "memory");
    return answer;
}
void _start(void) { call(1, (void *)(long)(call(15, "kept", 0777) != 0), 0); for (;;); }
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
async def test_compiled_32_bit_program_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "32.c").write_text(PROGRAM_32)
    (tmp_path / "kept").touch()
    built = await run_unrestricted("gcc -m32 -O1 -fno-pic -fno-stack-protector -nostdlib -static -o 32 32.c", tmp_path)
    if not built.ok:
        pytest.skip(f"gcc makes no 32-bit programs here: {built.stderr.splitlines()[-1]}")
    before = tree(tmp_path)
    result = await run_restricted("./32", tmp_path, timeout=HANG_TIMEOUT_S)
    assert (result.outcome, tree(tmp_path)) == (Exited(128 + signal.SIGSYS), before)
    if not (await run_unrestricted("./32", tmp_path)).ok:
        pytest.skip("this kernel runs no 32-bit programs")
    assert tree(tmp_path) != before


async def test_command_has_no_capabilities_and_cannot_gain_any() -> None:
    result = await run_restricted("grep -E '^(NoNewPrivs|Seccomp|Cap(Inh|Prm|Eff|Amb)):' /proc/self/status")
    none = "0000000000000000"
    assert dict(line.split() for line in result.stdout.splitlines()) == {
        "CapInh:": none,
        "CapPrm:": none,
        "CapEff:": none,
        "CapAmb:": none,
        "NoNewPrivs:": "1",
        "Seccomp:": "2",
    }
    program = """
        version = struct.pack("Ii", 0x20080522, 0)
        print(said(call, 126, 91, version, struct.pack("6I", 1, 1, 1, 0, 0, 0)),
              said(call, 157, 167, 38, 0, 0, 0, 0), said(call, 157, 167, 47, 2, 0, 0, 0),
              said(os.setuid, 12345) if os.getuid() == 0 else "EPERM", said(os.setgroups, [0]))
    """
    assert (await run_restricted(python(program))).output == "EPERM EINVAL EPERM EPERM EPERM\n"
