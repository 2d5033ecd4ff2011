"""What the operating system says about processes: descriptors, threads, memory, children. Looks at `/proc`."""

from __future__ import annotations

import os
import select
from dataclasses import dataclass
from pathlib import Path

import pytest

from nacre.base.system import LINUX
from nacre.keeper.protocol.procfs import tag_of

MARK = "NACRE_TEST_RUN"
"""A variable that everything started by this test run inherits."""


@dataclass(frozen=True)
class Cost:
    """What a process holds."""

    fds: int | None
    """None: this user may not look (the keeper hides itself)."""
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
    """Nothing when there is no such process."""
    lines = _read(f"/proc/{pid}/status").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def memory(pid: int) -> tuple[int, int]:
    """Bytes resident now, and at most so far."""
    need_to_see(pid)
    seen = status(pid)
    now, most = (int(seen[field].split()[0]) * 1024 for field in ("VmRSS", "VmHWM"))
    return now, most


def state(pid: int) -> str:
    """`R`, `S`, `Z`, …; `?` when it hides, as a keeper does under hidepid=2; empty when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return _hidden_state(pid) if is_hidden(pid) else ""


def _hidden_state(pid: int) -> str:
    """Of a child of ours it is known whether it is stopped; of others, nothing."""
    try:
        changed = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return "?"
    return "?" if changed is None else "T"


def is_hidden(pid: int) -> bool:
    """It lives, and /proc does not show it to this user."""
    if os.path.exists(f"/proc/{pid}") or not hasattr(os, "pidfd_open"):
        return False
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        has_exited = bool(select.select([handle], [], [], 0)[0])  # it may be hidden until it is reaped
    finally:
        os.close(handle)
    return not has_exited and not os.path.exists(f"/proc/{pid}")  # it may have been started in between


def need_to_see(pid: int) -> None:
    """Skips the test where /proc does not show this process."""
    if is_hidden(pid):
        pytest.skip("/proc hides the keeper from this user (hidepid=2)")


def is_alive(pid: int) -> bool:
    return state(pid) not in ("", "Z", "X")


def children(pid: int) -> list[int]:
    return [int(line.split()[0]) for line in stats() if int(line.rpartition(")")[2].split()[1]) == pid]


def stats() -> list[str]:
    """The `stat` line of every process."""
    return [text for text in (_read(f"/proc/{pid}/stat") for pid in pids()) if text]


def pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def command_line(pid: int) -> str:
    return _read(f"/proc/{pid}/cmdline").replace("\0", " ").strip()


def strays() -> dict[int, str]:
    """What this test run has started and not ended, by pid, but its own keeper and the shell that it keeps ready."""
    mark = f"{MARK}={os.environ[MARK]}"
    found = [pid for pid in pids() if pid != os.getpid() and mark in _read(f"/proc/{pid}/environ").split("\0")]
    return {
        pid: _describe_process(pid)
        for pid in found
        if is_alive(pid) and not (_is_own_keeper(pid) or _is_ready_shell(pid))
    }


def _describe_process(pid: int) -> str:
    """For whoever has to find out why it is still there."""
    parent, session = parent_and_session(pid)
    tag = tag_of(pid) if LINUX else None
    return f"{command_line(pid)} (session {session}, tag {tag}, child of {parent}: {command_line(parent)})"


def ready_shells(keeper: int) -> list[int]:
    """Shells that a keeper has started ahead of the next command."""
    return [pid for pid in children(keeper) if is_alive(pid) and _is_ready_shell(pid)]


def forked_keepers(keeper: int) -> list[int]:
    """Those that it has forked off, for tasks and for what may become one."""
    need_to_see(keeper)
    return [pid for pid in children(keeper) if is_alive(pid) and status(pid).get("Name") == "nacre-task"]


def _is_own_keeper(pid: int) -> bool:
    return parent_and_session(pid)[0] == os.getpid() and "keeper" in command_line(pid)


def _is_ready_shell(pid: int) -> bool:
    """Of the keeper, or of one that it has forked ahead for the next task. What has its command has its tag."""
    parent, session = parent_and_session(pid)
    kept = is_hidden(parent) or _is_own_keeper(parent) or _is_own_keeper(parent_and_session(parent)[0])
    tag = tag_of(pid) if LINUX else None
    return session == pid and kept and tag is None and "BASH_EXECUTION_STRING" in command_line(pid)


def parent_and_session(pid: int) -> tuple[int, int]:
    stat = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(stat[1]), int(stat[3])) if stat else (0, 0)


def _read(path: str) -> str:
    try:
        with open(path, "rb", buffering=0) as file:  # after each test, for each process that there is
            return file.readall().decode("utf-8", "replace")
    except OSError:
        return ""  # gone, or another user's
