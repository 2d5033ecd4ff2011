"""Facts about processes from `/proc`: descriptors, threads, memory, children."""

from __future__ import annotations

import os
import select
from dataclasses import dataclass
from pathlib import Path

import pytest

from nacre.base.system import LINUX
from nacre.keeper.protocol.procfs import tag_of

MARK = "NACRE_TEST_RUN"
"""Environment variable that every process started by this test run inherits."""


@dataclass(frozen=True)
class Cost:
    """Resources that a process holds."""

    fds: int | None
    """None if this user may not read the process's descriptors (the keeper is not dumpable)."""
    threads: int
    children: int
    zombies: int


def cost(pid: int) -> Cost:
    need_to_see(pid)
    below = children(pid)
    return Cost(fds(pid), int(status(pid)["Threads"]), len(below), sum(state(child) == "Z" for child in below))


def fds(pid: int) -> int | None:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except PermissionError:
        return None


def status(pid: int) -> dict[str, str]:
    """Return the fields of `/proc/PID/status`; an empty dict if there is no such process."""
    lines = _read(f"/proc/{pid}/status").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def memory(pid: int) -> tuple[int, int]:
    """Return the resident memory in bytes, now and at its peak."""
    need_to_see(pid)
    seen = status(pid)
    now, most = (int(seen[field].split()[0]) * 1024 for field in ("VmRSS", "VmHWM"))
    return now, most


def state(pid: int) -> str:
    """Return `R`, `S`, `Z`, …; `?` if /proc hides the process (hidepid=2); an empty string if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return _hidden_state(pid) if is_hidden(pid) else ""


def _hidden_state(pid: int) -> str:
    """Return the state of a process that /proc hides: `T` for a stopped child of this process, `?` for all others."""
    try:
        changed = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return "?"
    return "?" if changed is None else "T"


def is_hidden(pid: int) -> bool:
    """Return whether the process is alive and /proc hides it from this user."""
    if os.path.exists(f"/proc/{pid}") or not hasattr(os, "pidfd_open"):
        return False
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        has_exited = bool(select.select([handle], [], [], 0)[0])  # /proc may hide it until it is reaped
    finally:
        os.close(handle)
    return not has_exited and not os.path.exists(f"/proc/{pid}")  # it may have started in between


def need_to_see(pid: int) -> None:
    """Skip the test if /proc hides this process."""
    if is_hidden(pid):
        pytest.skip("/proc hides the keeper from this user (hidepid=2)")


def is_alive(pid: int) -> bool:
    return state(pid) not in ("", "Z", "X")


def children(pid: int) -> list[int]:
    return [int(line.split()[0]) for line in stats() if int(line.rpartition(")")[2].split()[1]) == pid]


def stats() -> list[str]:
    """Return the `stat` line of every process."""
    return [text for text in (_read(f"/proc/{pid}/stat") for pid in pids()) if text]


def pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def command_line(pid: int) -> str:
    return _read(f"/proc/{pid}/cmdline").replace("\0", " ").strip()


def stray_processes() -> dict[int, str]:
    """Return the live processes of this test run by PID, except its own keeper and that keeper's standby shells."""
    mark = f"{MARK}={os.environ[MARK]}"
    found = [pid for pid in pids() if pid != os.getpid() and mark in _read(f"/proc/{pid}/environ").split("\0")]
    return {
        pid: _describe_process(pid)
        for pid in found
        if is_alive(pid) and not (_is_own_keeper(pid) or _is_ready_shell(pid))
    }


def _describe_process(pid: int) -> str:
    """Describe the process for the failure message."""
    parent, session = parent_and_session(pid)
    tag = tag_of(pid) if LINUX else None
    return f"{command_line(pid)} (session {session}, tag {tag}, child of {parent}: {command_line(parent)})"


def ready_shells(keeper: int) -> list[int]:
    """Return the standby shells that a keeper has started ahead of the next command."""
    return [pid for pid in children(keeper) if is_alive(pid) and _is_ready_shell(pid)]


def forked_keepers(keeper: int) -> list[int]:
    """Return the keepers that this keeper has forked, for tasks and for runs that may become tasks."""
    need_to_see(keeper)
    return [pid for pid in children(keeper) if is_alive(pid) and status(pid).get("Name") == "nacre-task"]


def _is_own_keeper(pid: int) -> bool:
    return parent_and_session(pid)[0] == os.getpid() and "keeper" in command_line(pid)


def _is_ready_shell(pid: int) -> bool:
    """Return whether this is a standby shell of our keeper or of one that it forked. Shells of runs have a tag."""
    parent, session = parent_and_session(pid)
    kept = is_hidden(parent) or _is_own_keeper(parent) or _is_own_keeper(parent_and_session(parent)[0])
    tag = tag_of(pid) if LINUX else None
    return session == pid and kept and tag is None and "BASH_EXECUTION_STRING" in command_line(pid)


def parent_and_session(pid: int) -> tuple[int, int]:
    stat = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(stat[1]), int(stat[3])) if stat else (0, 0)


def _read(path: str) -> str:
    try:
        with open(path, "rb", buffering=0) as file:  # unbuffered: this runs after each test, for each process
            return file.readall().decode("utf-8", "replace")
    except OSError:
        return ""  # it has exited or belongs to another user
