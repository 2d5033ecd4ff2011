"""What this kernel can enforce, by asking it: once, without a trace in this process."""

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
    """All that `plan` must know of a machine."""

    machine: str
    landlock: int = 0
    """Its ABI; 0 for none."""
    seccomp: bool = False
    mounts: bool = False
    """Whether we may have mount namespaces, which takes root."""
    terminals: bool = False
    """Whether a mount namespace can have pseudo-terminals of its own."""
    user_namespace: bool = False
    """Whether those mounts take a user namespace, since we are not root."""
    networks: bool = False
    """Whether we may have network namespaces."""
    missing: str = ""
    """Why there is no Landlock, and what to do about it."""

    @property
    def confines(self) -> bool:
        """Whether `restricted` and `workspace` are offered."""
        return self.landlock > 0


@cache
def kernel() -> Kernel:
    """This one."""
    found = probe()
    if not found.confines:
        logging.getLogger("nacre").warning("Commands cannot be confined here. %s", found.missing)
    return found


def probe() -> Kernel:
    machine = os.uname().machine
    if sys.platform != "linux":
        return Kernel(machine=machine, missing=f"Confinement needs Linux with Landlock; this is {sys.platform}.")
    if not system.LINUX:
        return Kernel(machine=machine, missing=f"{system.PORTABLE_FLAG} is set, which switches confinement off.")
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
    """The same where mounts are made in a user namespace, if that is allowed here."""
    if kernel.mounts or not kernel.confines:
        return kernel
    has = _in_user_namespace()
    if "mounts" not in has:
        return kernel
    return replace(kernel, mounts=True, terminals="terminals" in has, user_namespace=True)


@cache
def _in_user_namespace() -> frozenset[str]:
    """The features of a user namespace here, tried by another process, since this one may have threads."""
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
    with contextlib.suppress(ChildProcessError):  # this program ignores SIGCHLD
        os.waitpid(pid, 0)
    return words


def _missing(error: OSError) -> str:
    if error.errno == errno.EOPNOTSUPP:
        return "Landlock is built into this kernel but switched off: add `landlock` to `lsm=` on its command line."
    if error.errno == errno.ENOSYS:
        return (
            f"This kernel ({os.uname().release}) has no Landlock, or a container's filter hides it: Linux 5.13 or "
            "newer with CONFIG_SECURITY_LANDLOCK has, from 6.12 on all of it."
        )
    return f"Landlock does not answer: {error.strerror}. A container's filter may forbid it."


def _has_seccomp(machine: str) -> bool:
    """Whether filters can be installed, and we know the numbers to put into them."""
    if machine not in ARCHITECTURES or sys.maxsize < 2**32:
        return False
    try:
        with open("/proc/sys/kernel/seccomp/actions_avail", encoding="ascii") as file:
            return "errno" in file.read().split()
    except OSError:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(_PR_GET_SECCOMP, 0, 0, 0, 0) >= 0)


def _namespaces() -> tuple[bool, bool, bool]:
    """Mounts, terminals, networks; tried for real, on a thread that ends: a container may hold any of it back."""
    if os.geteuid() != 0:
        return False, False, False
    from nacre.sandbox.kernel import apply

    answers = [False, False, False]

    def attempt() -> None:
        for index, try_it in enumerate(
            (apply.new_mount_namespace, apply.mount_private_terminals, apply.new_network_namespace)
        ):
            if index == 1 and not answers[0]:
                continue  # it would mount where everybody sees it
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
