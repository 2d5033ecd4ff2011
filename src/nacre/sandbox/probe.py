"""Detects what this kernel can enforce: once per process, by trying it on a throw-away thread or process."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import sys
import threading
from functools import cache

from nacre.base import system
from nacre.base.frozen import frozen, replace
from nacre.sandbox.kernel import landlock
from nacre.sandbox.kernel.syscalls import ARCHITECTURES

_PR_GET_SECCOMP = 21
_PROBE_TIMEOUT_S = 5.0


@frozen(kw_only=True)
class Kernel:
    """Features of a machine's kernel, as far as `resolve` needs them."""

    machine: str
    landlock: int = 0
    """Landlock ABI version; 0 for none."""
    seccomp: bool = False
    """seccomp filters can be installed, and their system call numbers are known for this machine."""
    mounts: bool = False
    """Mount namespaces can be created: as root, or with `user_namespace`."""
    terminals: bool = False
    """A mount namespace can have private pseudo-terminals."""
    user_namespace: bool = False
    """Mounts are made in a user namespace, since this process is not root."""
    networks: bool = False
    """Network namespaces can be created."""
    missing: str = ""
    """Reason why there is no Landlock, and how to get it."""

    @property
    def confines(self) -> bool:
        """True if access modes `restricted` and `workspace` are available."""
        return self.landlock > 0


@cache
def kernel() -> Kernel:
    """Return the features of this kernel, probed once; log a warning if it cannot sandbox commands."""
    found = probe()
    if not found.confines:
        logging.getLogger("nacre").warning("Commands cannot be sandboxed here. %s", found.missing)
    return found


def probe() -> Kernel:
    """Return the features of this kernel. Does not look for user namespaces: see `with_user_namespace`."""
    machine = os.uname().machine
    if sys.platform != "linux":
        return Kernel(machine=machine, missing=f"The sandbox needs Linux with Landlock; this is {sys.platform}.")
    if not system.LINUX:
        return Kernel(machine=machine, missing=f"{system.PORTABLE_FLAG} is set, which disables the sandbox.")
    try:
        abi = landlock.abi()
    except OSError as error:
        return Kernel(machine=machine, seccomp=_has_seccomp(machine), missing=_missing(error))
    mounts, terminals, networks = _namespaces()
    return Kernel(
        machine=machine,
        landlock=min(abi, landlock.MAX_ABI),
        seccomp=_has_seccomp(machine),
        mounts=mounts,
        terminals=terminals,
        networks=networks,
    )


def with_user_namespace(kernel: Kernel) -> Kernel:
    """Return `kernel` with mounts made in a user namespace, where it has none otherwise and this is allowed here."""
    if kernel.mounts or not kernel.confines:
        return kernel
    has = _in_user_namespace()
    if "mounts" not in has:
        return kernel
    return replace(kernel, mounts=True, terminals="terminals" in has, user_namespace=True)


@cache
def _in_user_namespace() -> frozenset[str]:
    """Return which of `mounts` and `terminals` work in a user namespace. Tried in a new process: this one may have
    several threads."""
    if not sys.executable:
        return frozenset()
    program = os.path.join(os.path.dirname(__file__), "kernel", "try_user_namespace.py")
    read, write = os.pipe()
    files = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 2)]
    try:
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", program],
            {"PATH": os.defpath},
            file_actions=[*files, (os.POSIX_SPAWN_DUP2, write, 1)],
        )
    except OSError:
        os.close(read)
        return frozenset()
    finally:
        os.close(write)
    with open(read, encoding="ascii", errors="replace") as answer:
        words = frozenset(answer.read().split())
    with contextlib.suppress(ChildProcessError):  # the host program ignores SIGCHLD
        os.waitpid(pid, 0)
    return words


def _missing(error: OSError) -> str:
    if error.errno == errno.EOPNOTSUPP:
        return "Landlock is built into this kernel but switched off: add `landlock` to `lsm=` on its command line."
    if error.errno == errno.ENOSYS:
        return (
            f"This kernel ({os.uname().release}) has no Landlock, or a container's seccomp filter hides it: it needs "
            "Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK, 6.12 or newer for all features."
        )
    return f"Landlock is not usable: {error.strerror}. A container's seccomp filter may deny it."


def _has_seccomp(machine: str) -> bool:
    """Return whether filters can be installed and this machine's system call numbers are known."""
    if machine not in ARCHITECTURES or sys.maxsize < 2**32:
        return False
    try:
        with open("/proc/sys/kernel/seccomp/actions_avail", encoding="ascii") as file:
            return "errno" in file.read().split()
    except OSError:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(_PR_GET_SECCOMP, 0, 0, 0, 0) >= 0)


def _namespaces() -> tuple[bool, bool, bool]:
    """Return whether mount namespaces, private terminals and network namespaces work. Each is tried on a thread that
    exits: a container may forbid any of them."""
    if os.geteuid() != 0:
        return False, False, False
    from nacre.sandbox.kernel import apply

    answers = [False, False, False]

    def attempt() -> None:
        for index, try_it in enumerate(
            (apply.new_mount_namespace, apply.mount_private_terminals, apply.new_network_namespace)
        ):
            if index == 1 and not answers[0]:
                continue  # it would mount in the namespace of the whole system
            try:
                try_it()
            except OSError:
                continue
            answers[index] = True

    thread = threading.Thread(target=attempt, name="nacre-probe", daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        from nacre.sandbox.clone3 import no_thread

        raise no_thread() from error
    thread.join(_PROBE_TIMEOUT_S)
    return answers[0], answers[1], answers[2]
