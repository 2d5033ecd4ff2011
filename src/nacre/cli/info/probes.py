"""Tests what this machine supports, one `Check` each. Nothing is guessed, and nothing is left behind."""

from __future__ import annotations

import fcntl
import os
import platform
import resource
import shutil
import sys
import time
from contextlib import suppress

from nacre import __version__
from nacre.base import system
from nacre.base.temp_dir import NoTemporaryDirectory, temporary_directory
from nacre.cli.info.doctor_check import Check
from nacre.errors import NacreError
from nacre.execution.limiter import default_capacity
from nacre.keeper.protocol.proc_check import proc_problem
from nacre.keeper.protocol.procfs import read_process
from nacre.result import Result
from nacre.sandbox.clone3 import REMEDY, is_clone3_denied

_F_SETPIPE_SZ, _F_GETPIPE_SZ = 1031, 1032
_MIN_FREE_DESCRIPTORS = 32
_TRIAL_TIMEOUT_S = 20.0
"""Limit for a trivial command. Only a machine in trouble needs that long."""
_ORPHAN = "(sleep 60 >/dev/null 2>&1 &)"


def examine() -> tuple[bool, list[Check]]:
    """Return whether commands can be run and confined, and all checks."""
    checks = [Check("nacre", "ok", __version__), _python(), _platform()]
    works, trials = _trials()
    checks += [*trials, _proc(), _dev_fd(), _temporary(), _clone3(), _memfd(), _pidfd(), _pipe_size()]
    checks += [*_portable(), _files()]
    if not works:
        return False, checks
    from nacre.cli.info.confinement import confinement

    confines, rows = confinement()
    from nacre.cli.info.engines import engines

    return confines, checks + rows + engines()


def _python() -> Check:
    return Check("python", "ok", f"{platform.python_version()}, {sys.executable}")


def _platform() -> Check:
    name = f"{platform.system()} {platform.release()} {platform.machine()}"
    if platform.system() == "Linux":
        return Check("platform", "ok", f"{name}, a tested one")
    return Check("platform", "untested", name, "nacre is tested on Linux only; expect problems here.")


# checks that need a run


def _trials() -> tuple[bool, list[Check]]:
    bash = shutil.which("bash", path=os.environ.get("PATH", os.defpath))
    if bash is None:
        return False, [Check("bash", "missing", "none on PATH", "Install bash, or put it on PATH.")]
    from nacre.bash import run_sync
    from nacre.keeper.client.connection import keeper_connection

    before = time.monotonic()
    try:
        keeper = keeper_connection()
        first = run_sync('printf %s "$BASH_VERSION"', timeout=_TRIAL_TIMEOUT_S)
        took = time.monotonic() - before
        orphan = run_sync(_ORPHAN, timeout=_TRIAL_TIMEOUT_S)
    except NacreError as error:
        return False, [Check("bash", "ok", bash), Check("keeper", "failed", str(error))]
    resident = _resident(keeper.pid)
    parents = [seen.ppid for process in orphan.running if (seen := read_process(process.pid)) is not None]
    keeper.shut_down()
    if not first.ok:
        return False, [Check("bash", "failed", f"{bash}: {first.summary}", "Does `bash -c true` work?")]
    return True, [
        Check("bash", "ok", f"{first.stdout}, {bash}"),
        Check("keeper", "ok", f"first answer after {took * 1000:.0f} ms{resident}"),
        _orphans(orphan),
        _subreaper(keeper.pid, parents),
    ]


def _resident(pid: int) -> str:
    with (
        suppress(OSError, IndexError, ValueError),
        open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file,
    ):
        kib = int(file.read().partition("VmRSS:")[2].split()[0])
        return f", {kib / 1024:.1f} MiB resident"
    return ""


def _orphans(orphan: Result) -> Check:
    if not orphan.running:
        remedy = "Install ps (procps)." if not system.LINUX else "Mount /proc."
        return Check("orphans", "missing", "a process that left its parent was not found", remedy)
    for process in orphan.running:
        if _is_alive(process.pid):
            return Check("orphans", "failed", f"process {process.pid} could not be killed")
    return Check("orphans", "ok", "a process that left its parent was found and killed")


def _is_alive(pid: int) -> bool:
    if os.path.exists("/proc/self/stat"):
        seen = read_process(pid)
        return seen is not None and seen.is_alive  # init may be slow to reap zombies
    with suppress(OSError):
        os.kill(pid, 0)
        return True
    return False


def _subreaper(keeper: int, parents: list[int]) -> Check:
    if not system.LINUX:
        return Check("subreaper", "off", "not used in portable mode")
    if parents and all(parent == keeper for parent in parents):
        return Check("subreaper", "ok", "orphans are reparented to the keeper")
    return Check(
        "subreaper", "missing", "orphans are not reparented to the keeper", "Needs Linux 3.4 and a readable /proc."
    )


# checks that need a single call


def _proc() -> Check:
    if problem := proc_problem():
        reason, _, remedy = problem.partition(" Mount ")
        return Check("proc", "failed" if os.path.exists("/proc/self") else "missing", reason, f"Mount {remedy}")
    if not os.path.exists("/proc/self/stat"):
        return Check("proc", "off")  # macOS
    if not os.path.exists("/proc/thread-self/children"):
        return Check("proc", "ok", "without children files: finding processes takes longer")
    return Check("proc", "ok", "with children files")


def _dev_fd() -> Check:
    if os.path.isdir("/dev/fd"):
        return Check("dev fd", "ok")
    detail = "nacre does not need it; `<(command)` in bash does"
    return Check("dev fd", "missing", detail, "Create it: ln -s /proc/self/fd /dev/fd")


def _temporary() -> Check:
    try:
        return Check("temporary files", "ok", temporary_directory())
    except NoTemporaryDirectory as error:
        return Check("temporary files", "missing", f"{error.strerror}: no command can be sandboxed", error.hint)


def _clone3() -> Check:
    if platform.system() != "Linux":
        return Check("clone3", "off", "not used here")
    if is_clone3_denied():
        reason, _, remedy = REMEDY.partition(". ")
        return Check("clone3", "failed", reason, remedy)
    return Check("clone3", "ok")


def _memfd() -> Check:
    try:
        os.close(os.memfd_create("nacre-doctor", os.MFD_CLOEXEC))
    except (AttributeError, OSError) as error:
        detail = f"{_reason(error)}; temporary files are used instead"
        remedy = "Needs Linux 3.17, and a seccomp profile that allows memfd_create." if system.LINUX else ""
        return Check("memfd", "missing", detail, remedy)
    return Check("memfd", "ok")


def _pidfd() -> Check:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError) as error:
        return Check("pidfd", "missing", f"{_reason(error)}; nacre works without it", "Needs Linux 5.3.")
    return Check("pidfd", "ok")


def _pipe_size() -> Check:
    if platform.system() != "Linux":
        return Check("pipe size", "off", "cannot be changed here")
    read, write = os.pipe()
    try:
        with suppress(OSError):
            fcntl.fcntl(write, _F_SETPIPE_SZ, system.PIPE_BYTES)
        size = fcntl.fcntl(write, _F_GETPIPE_SZ)
    finally:
        os.close(read)
        os.close(write)
    if size < system.PIPE_BYTES:
        return Check(
            "pipe size", "low", f"{size // 1024} KiB", "Raise /proc/sys/fs/pipe-max-size or pipe-user-pages-soft."
        )
    return Check("pipe size", "ok", f"{size // 1024} KiB")


def _portable() -> list[Check]:
    if system.LINUX:
        return [Check("portable mode", "off")]
    forced = platform.system() == "Linux"
    remedy = f"Unset {system.PORTABLE_FLAG} to use what Linux offers." if forced else ""
    ps = shutil.which("ps")
    return [
        Check("portable mode", "on", "slower, and some processes may not be found", remedy),
        Check("ps", "ok", ps) if ps else Check("ps", "missing", "", "Install ps (procps)."),
    ]


def _files() -> Check:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    capacity = default_capacity()
    detail = f"{_limit(soft)} (at most {_limit(hard)}): up to {capacity} commands at once"
    if capacity < _MIN_FREE_DESCRIPTORS:
        return Check("open files", "low", detail, "Raise it: ulimit -n 4096")
    return Check("open files", "ok", detail)


def _limit(value: int) -> str:
    return "unlimited" if value == resource.RLIM_INFINITY else str(value)


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else "not in this Python or system"
