"""What this kernel can enforce, by asking it: once, without a trace in this process."""

from __future__ import annotations

import errno
import logging
import os
import sys
import threading
from functools import cache

from nacre import system
from nacre.frozen import frozen
from nacre.sandbox import landlock
from nacre.sandbox.syscalls import ARCHITECTURES

_PR_GET_SECCOMP = 21
_TIME_TO_ANSWER = 5.0


@frozen(kw_only=True)
class Kernel:
    """All that `plan` must know of a machine."""

    machine: str
    landlock: int = 0
    """Its ABI; 0 for none."""
    seccomp: bool = False
    mounts: bool = False
    """Whether we may have mount namespaces, which takes root."""
    networks: bool = False
    """Whether we may have network namespaces."""
    lack: str = ""
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
        logging.getLogger("nacre").warning("Commands cannot be confined here. %s", found.lack)
    return found


def probe() -> Kernel:
    machine = os.uname().machine
    if sys.platform != "linux":
        return Kernel(machine=machine, lack=f"Confinement needs Linux with Landlock; this is {sys.platform}.")
    if not system.LINUX:
        return Kernel(machine=machine, lack=f"{system.PORTABLE_FLAG} is set, which switches confinement off.")
    try:
        abi = landlock.abi()
    except OSError as error:
        return Kernel(machine=machine, seccomp=_has_seccomp(machine), lack=_lack(error))
    mounts, networks = _namespaces()
    return Kernel(
        machine=machine,
        landlock=min(abi, landlock.NEWEST),
        seccomp=_has_seccomp(machine),
        mounts=mounts,
        networks=networks,
    )


def _lack(error: OSError) -> str:
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


def _namespaces() -> tuple[bool, bool]:
    """Tried for real, on a thread that ends: a container may hold any of it back."""
    if os.geteuid() != 0:
        return False, False
    from nacre.sandbox import confine

    answers = [False, False]

    def attempt() -> None:
        for index, try_it in enumerate((confine.own_mounts, confine.own_network)):
            try:
                try_it()
            except OSError:
                continue
            answers[index] = True

    thread = threading.Thread(target=attempt, name="nacre-probe", daemon=True)
    thread.start()
    thread.join(_TIME_TO_ANSWER)
    return answers[0], answers[1]
