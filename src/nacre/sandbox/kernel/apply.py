"""Applies a Ruleset to the calling thread: for good, and for everything it starts. The keeper uses a throw-away thread.

Steps that need privileges (namespaces, mounts) come first, restrictions that forbid them after. Any failure raises
OSError; nothing may be started from a thread that failed half way.
"""

from __future__ import annotations

import os
import struct

from nacre.base.mount_table import read_mount_table
from nacre.sandbox.kernel import landlock
from nacre.sandbox.kernel.libc import call, prctl
from nacre.sandbox.kernel.ruleset import HIDDEN, PTS, READ_ONLY, SHM, WRITABLE, Ruleset
from nacre.sandbox.kernel.syscalls import NUMBERS

TYPE_CHECKING = False  # loaded by the keeper: importing `typing` would add 5 ms to its start
if TYPE_CHECKING:
    from collections.abc import Callable

_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_PR_CAPBSET_DROP, _CAP_SYS_RESOURCE = 24, 24
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITIES = 0x20080522
"""Version 3 of the `capset` header (_LINUX_CAPABILITY_VERSION_3)."""
_CLONE_NEWNS, _CLONE_NEWNET = 0x20000, 0x40000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_MOUNT_ATTR_RDONLY = 1


def apply(wanted: Ruleset, scratch: bytes) -> None:
    """Apply `wanted` to this thread. `scratch` is the path of the run's private TMPDIR, or empty. Raises OSError."""
    if wanted.user_namespace:
        from nacre.sandbox.kernel.user_namespace import enter_user_namespace

        enter_user_namespace()
    if wanted.read_only_root or wanted.mounts:
        _mount(wanted, scratch)
    if wanted.loopback:
        new_network_namespace()
    if wanted.drop_privileges:
        prctl(_PR_SET_NO_NEW_PRIVS, 1)
    elif wanted.limits:
        keep_limits()
    if wanted.landlock is not None:
        _restrict(wanted, scratch)
    if wanted.drop_privileges:
        set_capabilities(0)
    if wanted.filter:
        install_filter(wanted.filter)


def install_filter(program: bytes) -> None:
    """Install a seccomp filter for this thread. Requires `no_new_privs`."""
    import ctypes

    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("H6xQ", len(program) // 8, ctypes.addressof(code))
    prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, head)


def set_capabilities(mask: int) -> None:
    """Set the effective and permitted capabilities; clear the inheritable ones."""
    low, high = mask & 0xFFFFFFFF, mask >> 32
    head = struct.pack("Ii", _CAPABILITIES, 0)
    call(_numbers()["capset"], head, struct.pack("6I", low, low, 0, high, high, 0))


def keep_limits() -> None:
    """Drop CAP_SYS_RESOURCE, with which root could raise any limit, also from the bounding set: no program that this
    thread starts can get it back."""
    permitted = _permitted_capabilities()
    if permitted & (1 << _CAP_SYS_RESOURCE):
        prctl(_PR_CAPBSET_DROP, _CAP_SYS_RESOURCE)
        set_capabilities(permitted & ~(1 << _CAP_SYS_RESOURCE))


def _permitted_capabilities() -> int:
    import ctypes

    data = ctypes.create_string_buffer(24)
    call(_numbers()["capget"], struct.pack("Ii", _CAPABILITIES, 0), data)
    _, low, _, _, high, _ = struct.unpack("6I", data)
    return int(high << 32 | low)


def _numbers() -> dict[str, int]:
    return NUMBERS[os.uname().machine]


def _restrict(wanted: Ruleset, scratch: bytes) -> None:
    assert wanted.landlock is not None
    files, network, scopes = wanted.landlock
    ruleset = landlock.create(files, network, scopes)
    try:
        for rights, path in wanted.grants:
            try:
                landlock.allow_below(ruleset, path, rights & files)
            except FileNotFoundError:
                pass  # nothing to grant; a file created there later is not writable
        if scratch:
            landlock.allow_below(ruleset, os.path.realpath(scratch), landlock.EVERYTHING & files)
        for port in wanted.ports if network else ():
            landlock.allow_port(ruleset, port, landlock.CONNECT_TCP & network)
        landlock.restrict_thread(ruleset)
    finally:
        os.close(ruleset)


# namespaces


def _mount(wanted: Ruleset, scratch: bytes) -> None:
    new_mount_namespace()
    opened = [path for kind, path in wanted.mounts if kind == WRITABLE and os.path.exists(path)]
    opened += [os.path.realpath(scratch)] if scratch else []
    memory = [path for kind, path in wanted.mounts if kind == SHM and os.path.isdir(path) and path not in opened]
    covered = [path for path in opened if any(path.startswith(each + b"/") for each in memory)]
    if covered:
        _rebind_covered(covered, lambda: _mount_memory(wanted, memory))
        memory, opened = [], [*memory, *opened]
    for path in opened:
        mount(path, path, b"", _MS_BIND | _MS_REC)
    if wanted.read_only_root:
        for number, path in _writable_mounts():
            if any(path == each or path.startswith(each + b"/") for each in opened):
                continue
            try:
                _make_read_only(path, recursive=False)
            except OSError:
                if not _is_covered(path, number):
                    raise
    for kind, path in wanted.mounts:
        if kind == READ_ONLY and os.path.exists(path):
            mount(path, path, b"", _MS_BIND | _MS_REC)
            _make_read_only(path, recursive=True)
            # a task's TMPDIR is in its directory, which may be protected
            if os.path.realpath(scratch).startswith(path + b"/"):
                _set_mount(scratch, clear=_MOUNT_ATTR_RDONLY)
        elif kind == HIDDEN and os.path.isdir(path):
            mount(b"none", path, b"tmpfs", _MS_RDONLY | _MS_NOSUID | _MS_NODEV, b"mode=000,size=4096")
        elif kind == HIDDEN and os.path.exists(path):
            mount(b"/dev/null", path, b"", _MS_BIND)
        elif kind == SHM and path in memory:
            _mount_memory(wanted, [path])
        elif kind == PTS:
            mount_private_terminals(path)


def _mount_memory(wanted: Ruleset, paths: list[bytes]) -> None:
    # Files in a tmpfs belong to no process, so no per-process count includes them: limit its size.
    size = b"".join(b",size=%d" % most for name, most in wanted.watched_limits if name == b"memory")
    for path in paths:
        mount(b"none", path, b"tmpfs", _MS_NOSUID | _MS_NODEV, b"mode=1777" + size)


def _rebind_covered(paths: list[bytes], cover: Callable[[], None]) -> None:
    """Cover /dev/shm, then bind each of these paths (a workspace in /dev/shm, for example) to its old place again."""
    handles = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in sorted(paths)]
    try:
        cover()
        for path, handle in handles:
            if os.path.exists(path):
                continue  # inside a path that was just bound
            source = b"/proc/self/fd/%d" % handle
            if os.path.isdir(source):
                os.makedirs(path)
            else:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            mount(source, path, b"", _MS_BIND | _MS_REC)
    finally:
        for _, handle in handles:
            os.close(handle)


def mount_private_terminals(path: bytes = b"/dev/pts") -> None:
    """Mount a devpts instance that only this mount namespace has; terminals of other processes are not visible in
    it."""
    mount(b"none", path, b"devpts", _MS_NOSUID | _MS_NOEXEC, b"newinstance,ptmxmode=0666,mode=0620")
    mount(path + b"/ptmx", b"/dev/ptmx", b"", _MS_BIND)


def new_mount_namespace() -> None:
    """Move this thread into a new mount namespace, whose mounts no other namespace sees."""
    call(_numbers()["unshare"], _CLONE_NEWNS)
    mount(b"none", b"/", b"", _MS_REC | _MS_PRIVATE)


def mount(source: bytes, target: bytes, kind: bytes, flags: int, data: bytes = b"") -> None:
    call(_numbers()["mount"], source + b"\0", target + b"\0", kind + b"\0", flags, data + b"\0")


def _make_read_only(path: bytes, *, recursive: bool) -> None:
    _set_mount(path, add=_MOUNT_ATTR_RDONLY, how=_AT_RECURSIVE if recursive else 0)


def _set_mount(path: bytes, *, add: int = 0, clear: int = 0, how: int = 0) -> None:
    attributes = struct.pack("QQQQ", add, clear, 0, 0)
    call(_numbers()["mount_setattr"], _AT_FDCWD, path + b"\0", how, attributes, len(attributes))


def _is_covered(path: bytes, number: int) -> bool:
    """Return whether no path reaches this mount: another one covers it or a directory above it, or this user may not
    search a directory on the way (possible in a user namespace)."""
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return True
    try:
        with open(f"/proc/thread-self/fdinfo/{handle}", "rb") as file:
            return int(file.read().partition(b"mnt_id:")[2].split()[0]) != number
    finally:
        os.close(handle)


def _writable_mounts() -> list[tuple[int, bytes]]:
    """Return mount ID and mount point of each writable mount."""
    entries = read_mount_table("/proc/thread-self/mountinfo")  # other threads of the keeper are in another namespace
    return [(entry.number, entry.point) for entry in entries if b"ro" not in entry.options.split(b",")]


_SIOCSIFFLAGS, _IFF_UP_RUNNING = 0x8914, 0x41


def new_network_namespace() -> None:
    """Move this thread into a new network namespace that has only a loopback interface."""
    import fcntl
    import socket

    call(_numbers()["unshare"], _CLONE_NEWNET)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP_RUNNING))
