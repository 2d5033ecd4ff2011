"""Attempts to change a file from a mode that forbids it. Each targets files that the test has made."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from pathlib import Path

import pytest

from nacre.result import Exited, Signalled
from tests.escapes.inside import needs_landlock, python, run_restricted, run_unrestricted, tree
from tests.support.census import is_alive
from tests.support.hosts import run_host
from tests.support.lifeline import Gate
from tests.support.quoting import quote
from tests.support.users import free_uid
from tests.support.waiting import until

pytestmark = [pytest.mark.linux, pytest.mark.req("P-008"), needs_landlock]

BY_SHELL = {
    "write": "echo x >kept",
    "clobber": "set -C; echo x >|kept",
    "append": "echo x >>kept",
    "read-and-write": "exec 5<>kept && echo x >&5",
    "both-streams": "echo x &>kept",
    "new-file": "echo x >new",
    "noclobber-new-file": "set -C; echo x >new",
    "truncate": "truncate -s 0 kept",
    "grow": "truncate -s 1000 kept",
    "truncate-by-colon": ": >kept",
    "mkdir": "mkdir new",
    "rmdir": "rmdir empty",
    "rm": "rm -f kept",
    "rm-tree": "rm -rf full",
    "mv": "mv kept new",
    "mv-over": "mv -f kept full/inner",
    "mv-directory": "mv full new",
    "mv-to-scratch": 'mv kept "$TMPDIR/"',
    "mv-from-scratch": 'echo x >"$TMPDIR/x"; mv "$TMPDIR/x" kept',
    "chmod": "chmod 777 kept",
    "chmod-directory": "chmod 777 full",
    "chmod-itself": "chmod 777 .",
    "chown": 'chown "$(id -u)" kept',
    "chown-link": 'chown -h "$(id -u)" link',
    "chgrp": 'chgrp "$(id -g)" kept',
    "touch": "touch kept",
    "touch-date": "touch -d 2001-01-01 kept",
    "touch-access-time": "touch -a -d 2001-01-01 kept",
    "touch-link": "touch -h kept link",
    "touch-directory": "touch full",
    "link": "ln kept new",
    "link-to-scratch-and-write": 'ln kept "$TMPDIR/x" && echo x >"$TMPDIR/x"',
    "symlink": "ln -s kept new",
    "symlink-replaced": "ln -sfn empty link",
    "symlink-in-scratch": 'ln -s "$PWD/kept" "$TMPDIR/s" && echo x >"$TMPDIR/s"',
    "directory-symlink-in-scratch": 'ln -s "$PWD" "$TMPDIR/d" && echo x >"$TMPDIR/d/kept"',
    "dots-out-of-scratch": 'cd "$TMPDIR" && echo x >"../$(realpath --relative-to=.. "$OLDPWD")/kept"',
    "mkfifo": "mkfifo new",
    "mknod-fifo": "mknod new p",
    "mknod-null": "mknod new c 1 3",
    "through-symlink": "echo x >link",
    "through-directory-symlink": "echo x >way/inner",
    "through-proc-root": 'echo x >"/proc/self/root$PWD/kept"',
    "through-proc-cwd": "echo x >/proc/self/cwd/kept",
    "through-thread": 'echo x >"/proc/thread-self/root$PWD/kept"',
    "through-descriptor": "exec 5<kept; echo x >/proc/self/fd/5",
    "through-dev-fd": "exec 5<kept; echo x >>/dev/fd/5",
    "through-directory-descriptor": "exec 5<.; echo x >/proc/self/fd/5/kept",
    "through-stdin": "bash -c 'echo x >/dev/stdin' <kept",
    "tee": "echo x | tee -a kept",
    "dd": "dd if=/dev/zero of=kept bs=1 count=1 conv=notrunc status=none",
    "cp": "cp full/inner kept",
    "install": "install -m 700 full/inner new",
    "sed": "sed -i s/a/b/ kept",
    "perl": "perl -e 'open(F, q(>), q(kept)) or die $!; print F 1'",
    "perl-unlink": "perl -e 'unlink(q(kept)) or die $!'",
    "awk": 'awk \'BEGIN { print 1 >"kept"; exit close("kept") }\'',
    "fallocate": "fallocate -l 4096 kept",
    "history": "set -o history; HISTFILE=kept; history -s x; history -a && history -w",
    "tar": "tar -cf new kept",
    "setsid": "setsid -w sh -c 'echo x >kept'",
    "nohup": "nohup sh -c 'echo x >kept' </dev/null",
    "clean-environment": "env -i sh -c 'echo x >kept'",
    "background": "(echo x >kept) & wait $!",
    "coprocess": "coproc { echo x >kept; }; wait $!",
    "process-substitution": "echo x > >(cat >kept); wait $!",
    "trap-at-exit": "trap 'echo x >kept || exit 1' EXIT; true",
    "exec": "exec sh -c 'echo x >kept'",
}

BY_PYTHON = {
    "open": "open('kept', 'w')",
    "read-only-and-truncate": "os.open('kept', os.O_RDONLY | os.O_TRUNC)",
    "create": "os.open('new', os.O_RDONLY | os.O_CREAT)",
    "nameless": (
        "file = os.open('.', os.O_TMPFILE | os.O_RDWR); "
        "call(265, 37, -100, b'/proc/self/fd/%d' % file, -100, b'new', 0x400)"
    ),
    "path-descriptor": "os.open(f\"/proc/self/fd/{os.open('kept', os.O_PATH)}\", os.O_WRONLY | os.O_TRUNC)",
    "truncate": "os.truncate('kept', 0)",
    "rename": "os.rename('kept', 'new')",
    "rename-exchange": "call(316, 276, -100, b'kept', -100, b'full', 2)",
    "rename-no-replace": "call(316, 276, -100, b'kept', -100, b'new', 1)",
    "link": "os.link('kept', 'new')",
    "link-of-descriptor": (
        "call(265, 37, -100, b'/proc/self/fd/%d' % os.open('kept', os.O_PATH), -100, b'new', 0x400)"
    ),
    "unlink": "os.unlink('kept')",
    "mknod-file": "os.mknod('new')",
    "chmod": "os.chmod('kept', 0o777)",
    "fchmod": "os.fchmod(os.open('kept', os.O_RDONLY), 0o777)",
    "fchmodat2": "call(452, 452, -100, b'kept', 0o777, 0)",
    "fchmodat2-of-nothing": "call(452, 452, os.open('kept', os.O_RDONLY), b'', 0o777, 0x1000)",
    "chown": "os.chown('kept', os.getuid(), os.getgid())",
    "lchown": "os.lchown('link', os.getuid(), os.getgid())",
    "fchown": "os.fchown(os.open('kept', os.O_RDONLY), os.getuid(), os.getgid())",
    "utime": "os.utime('kept', (1, 1))",
    "utime-of-descriptor": "os.utime(os.open('kept', os.O_RDONLY), (1, 1))",
    "utime-by-old-call": "call(132, None, b'kept', 0)",
    "utimes-by-old-call": "call(235, None, b'kept', 0)",
    "futimesat": "call(261, None, -100, b'kept', 0)",
    "setxattr": "os.setxattr('kept', 'user.x', b'1')",
    "lsetxattr": "os.setxattr('kept', 'user.x', b'1', follow_symlinks=False)",
    "fsetxattr": "os.setxattr(os.open('kept', os.O_RDONLY), 'user.x', b'1')",
    "removexattr": "os.removexattr('marked', 'user.mark')",
    "fremovexattr": "os.removexattr(os.open('marked', os.O_RDONLY), 'user.mark')",
    "setxattrat": (
        "value = ctypes.create_string_buffer(b'1'); "
        "call(463, 463, -100, b'kept', 0, b'user.x', struct.pack('QII', ctypes.addressof(value), 1, 0), 16)"
    ),
    "removexattrat": "call(466, 466, -100, b'marked', 0, b'user.mark')",
    "acl": (
        "entries = ((1, 7, -1), (2, 7, os.getuid() + 1), (4, 7, -1), (16, 7, -1), (32, 7, -1)); "
        "acl = struct.pack('<I', 2) + b''.join(struct.pack('<HHi', *entry) for entry in entries); "
        "os.setxattr('kept', 'system.posix_acl_access', acl)"
    ),
    "file-flags": (
        "import fcntl; file = os.open('kept', os.O_RDONLY); flags = bytearray(8); "
        "fcntl.ioctl(file, 0x80086601, flags); fcntl.ioctl(file, 0x40086602, bytes([flags[0] | 0x40, *flags[1:]]))"
    ),
    "file-attributes": (
        "import fcntl; file = os.open('kept', os.O_RDONLY); attributes = bytearray(28); "
        "fcntl.ioctl(file, 0x801C581F, attributes); attributes[0] |= 0x80; fcntl.ioctl(file, 0x401C5820, attributes)"
    ),
    "file-attributes-by-new-call": "call(469, 469, -100, b'kept', struct.pack('QIIII', 0x80, 0, 0, 0, 0), 24, 0)",
    "file-version": "import fcntl; fcntl.ioctl(os.open('kept', os.O_RDONLY), 0x40087602, struct.pack('l', 7))",
    "ext4-file-version": "import fcntl; fcntl.ioctl(os.open('kept', os.O_RDONLY), 0x40086604, struct.pack('l', 7))",
    "verity": (
        "import fcntl; "
        "fcntl.ioctl(os.open('kept', os.O_RDONLY), 0x40806685, struct.pack('III', 1, 1, 4096).ljust(128, bytes(1)))"
    ),
    "encryption": (
        "import fcntl; fcntl.ioctl(os.open('empty', os.O_RDONLY), 0x800C6613, struct.pack('4B8s', 0, 1, 4, 0, b'k'))"
    ),
    "shared-mapping": "import mmap; mmap.mmap(os.open('kept', os.O_RDWR), 4)[0] = 65",
    "mapping-made-writable": (
        "libc.mmap.restype = ctypes.c_void_p; libc.mmap.argtypes = [ctypes.c_void_p] + [ctypes.c_long] * 5; "
        "file = os.open('kept', os.O_RDONLY if sys.argv[1:] else os.O_RDWR); "
        "place = libc.mmap(None, 4096, 1, 1, file, 0); "
        "call(10, 226, place, 4096, 3); ctypes.memset(place, 65, 1)"
    ),
    "fallocate": "os.posix_fallocate(os.open('kept', os.O_RDWR), 0, 4096)",
    "copy-file-range": "os.copy_file_range(os.open('full/inner', 0), os.open('kept', os.O_WRONLY), 3)",
    "sendfile": "os.sendfile(os.open('kept', os.O_WRONLY), os.open('full/inner', 0), 0, 3)",
    "handle": (
        "handle = ctypes.create_string_buffer(struct.pack('Ii', 128, 0) + bytes(128)); number = ctypes.c_int(); "
        "call(303, 264, -100, b'kept', handle, ctypes.byref(number), 0); "
        "os.write(call(304, 265, os.open('.', os.O_RDONLY), handle, os.O_WRONLY), b'x')"
    ),
    "openat2": "call(437, 437, -100, b'kept', struct.pack('QQQ', os.O_WRONLY | os.O_TRUNC, 0, 0), 24)",
    "creat": "call(85, None, b'kept', 0o600)",
    "program-in-memory": (
        "import shutil; file = os.memfd_create('x', 0); "
        "os.write(file, open(shutil.which('touch'), 'rb').read()); os.execve(file, ['touch', 'kept'], {})"
    ),
    "thread": (
        "import threading; worked = []; "
        "thread = threading.Thread(target=lambda: worked.append(said(open, 'kept', 'w'))); "
        "thread.start(); thread.join(); sys.exit(worked != ['done'])"
    ),
    "daemon": (
        "child = os.fork(); child or (os.setsid(), os.fork() or os._exit(said(open, 'kept', 'w') != 'done'), "
        "os._exit(os.waitstatus_to_exitcode(os.wait()[1]))); sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))"
    ),
    "socket-file": "import socket; socket.socketpair()[0].bind('new')",
    "sqlite": "import sqlite3; sqlite3.connect('new').execute('create table x (y)')",
    "asynchronous": (
        "context = ctypes.c_ulong(); call(206, 0, 1, ctypes.byref(context)); text = ctypes.create_string_buffer(b'x'); "
        "block = ctypes.create_string_buffer(struct.pack('QIIhhIQQqQII', 0, 0, 0, 1, 0, os.open('kept', os.O_WRONLY), "
        "ctypes.addressof(text), 1, 0, 0, 0, 0)); "
        "blocks = (ctypes.c_void_p * 1)(ctypes.addressof(block)); call(209, 2, context.value, 1, blocks)"
    ),
}

ATTEMPTS = {
    **BY_SHELL,
    **{f"python-{name}": python(program) for name, program in BY_PYTHON.items()},
}


def make_target(top: Path) -> Path:
    (top / "full").mkdir(parents=True)
    (top / "empty").mkdir()
    for name in ("kept", "full/inner", "marked"):
        (top / name).write_text("as it was\n")
    (top / "link").symlink_to("kept")
    (top / "way").symlink_to("full")
    with contextlib.suppress(OSError):  # the file system does not support it
        os.setxattr(top / "marked", "user.mark", b"1")
    return top


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Return files that this user may write and that nothing may change."""
    return make_target(tmp_path / "treasure")


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS)
async def test_restricted_command_cannot_change_files(target: Path, tmp_path: Path, attempt: str) -> None:
    before = tree(target)
    results = await asyncio.gather(*(run_restricted(attempt, target, strict=strict) for strict in (False, True)))
    assert tree(target) == before, results
    assert Exited(0) not in [result.outcome for result in results], results
    await prove_unrestricted(attempt, tmp_path)


async def prove_unrestricted(attempt: str, tmp_path: Path) -> None:
    """Run the attempt unrestricted, as proof that it can succeed; skip the test if it fails there, too."""
    other, scratch = make_target(tmp_path / "other"), tmp_path / "scratch"
    scratch.mkdir()
    before = tree(other)
    proof = await run_unrestricted(attempt, other, env={"TMPDIR": str(scratch)})
    if proof.outcome != Exited(0):
        pytest.skip(f"fails for another reason as well: {proof.output.strip()[-200:]}")
    assert (tree(other), list(scratch.iterdir())) != (before, [])


PLACES = ("/dev/shm", "/tmp", "/var/tmp", "/dev/mqueue", "/run", "/", "$HOME", "/proc", "/sys/fs/cgroup", "/dev/pts")


@pytest.mark.parametrize("place", PLACES)
async def test_restricted_command_cannot_create_files(place: str, tmp_path: Path) -> None:
    name = f"nacre-test-{tmp_path.name}-{os.getpid()}"
    result = await run_restricted(f'echo x >"{place}/{name}" && rm "{place}/{name}" && echo written')
    assert (result.outcome, result.stdout) == (Exited(1), "")


OWN = ("comm", "oom_score_adj", "timerslack_ns", "clear_refs", "coredump_filter", "attr/current", "sched", "setgroups")


@pytest.mark.parametrize("name", OWN)
async def test_restricted_command_cannot_write_its_procfs_files(name: str) -> None:
    result = await run_restricted(f"echo 0 >/proc/self/{name}")
    assert result.outcome == Exited(1)


async def test_files_are_unreachable_through_procfs_of_other_processes(target: Path) -> None:
    before = tree(target)
    result = await run_restricted(
        f"for pid in $PPID 1 {os.getpid()}; do for way in cwd root; do "
        'echo x >"/proc/$pid/$way$PWD/kept"; cat "/proc/$pid/$way$PWD/kept"; '
        'for task in /proc/$pid/task/*; do echo x >"$task/$way$PWD/kept"; done; done; done',
        target,
    )
    assert (tree(target), result.stdout) == (before, "")


def test_inheritable_fd_of_the_host_is_not_inherited(target: Path) -> None:
    before = tree(target)
    program = """
        import os, sys, nacre
        file = os.open(sys.argv[1], os.O_RDWR)
        for number in (file, *range(40, 50)):
            os.dup2(file, number, inheritable=True)
        command = 'for fd in /proc/self/fd/*; do readlink "$fd"; done; for n in {3..70}; do echo x >&$n; done'
        result = nacre.run_sync(command, access="restricted")
        print(sys.argv[1] in result.stdout, result.enforced[0])
    """
    assert run_host(program, target / "kept") == "False writes\n"
    assert tree(target) == before


async def test_leftovers_stay_sandboxed(target: Path, gate: Gate) -> None:
    before = tree(target)
    late = f'{gate.wait}; echo x >kept; rm -rf full; chmod 777 kept; : >"$TMPDIR/written"'
    result = await run_restricted(
        f"(trap '' HUP; {late}) & setsid sh -c {quote(late)} & echo $TMPDIR", target, leftovers="keep"
    )
    assert len(result.running) >= 2
    gate.open(times=2)
    await until(lambda: not any(is_alive(left.pid) for left in result.running), "the end of what was left running")
    assert tree(target) == before
    scratch = Path(result.stdout.strip())
    await until(lambda: not scratch.exists(), "the end of the private directory")


async def test_crash_leaves_no_core_file(target: Path) -> None:
    before = tree(target)
    result = await run_restricted("ulimit -c unlimited; ulimit -c 1000; ulimit -c; kill -SEGV $$", target)
    assert (result.outcome, result.stdout) == (Signalled(signal.SIGSEGV), "0\n")
    assert tree(target) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a set-user-ID program of another user")
async def test_setuid_program_runs_as_its_caller(tmp_path: Path) -> None:
    program = tmp_path / "whoami"
    shutil.copy(shutil.which("id") or "/usr/bin/id", program)
    uid = free_uid()
    os.chown(program, uid, uid)
    program.chmod(0o6755)
    for directory in (tmp_path, *tmp_path.parents[:3]):
        directory.chmod(directory.stat().st_mode | 0o011)
    proof = await run_unrestricted(f"{program} -u; {program} -g")
    if proof.stdout != f"{uid}\n{uid}\n":
        pytest.skip(f"set-user-ID has no effect here: {proof.output}")
    result = await run_restricted(f"{program} -u; {program} -g")
    assert result.stdout == "0\n0\n"


@pytest.mark.skipif(shutil.which("sudo") is None, reason="needs sudo")
async def test_sudo_fails_in_restricted_mode() -> None:
    result = await run_restricted("sudo -n id -u")
    assert result.outcome != Exited(0)
    assert result.stdout == ""
