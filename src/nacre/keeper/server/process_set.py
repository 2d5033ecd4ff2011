"""The processes of a run: its shell, the orphans that the keeper adopted, and their descendants."""

from __future__ import annotations

import os
import select
import time

from nacre.base.system import LINUX
from nacre.keeper.protocol import procfs
from nacre.keeper.protocol.procfs import ProcessInfo

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from collections.abc import Callable

    from nacre.keeper.protocol.replies import ProcessRow

_CPU_STARVED_AFTER_S = 2.0
"""Seconds to wait for CPU time for leftovers that have work to do and have had none."""
_STARTED_TICKS = 2
"""Ticks (hundredths of a second) of CPU time after which a leftover is considered to be working."""
_GROWING_ABOVE_PROCESSES = 16
"""More CPU-starved leftovers than this are a growing tree, not processes about to exit."""
_EXIT_RECHECKS = 6


class ProcessSet:
    """The live processes of one run, listed anew for each question."""

    __slots__ = (
        "_exit_rechecks_left",
        "_pipes",
        "_ticks_seen",
        "adopt",
        "adopted",
        "empty_pipes_suffice",
        "groups",
        "nested_tags",
        "pid",
        "pipe_names",
        "shell_exited_at",
        "tag",
    )

    def __init__(self, pid: int, tag: int, pipes: list[int], adopt: Callable[[], bool]) -> None:
        """`pipes`: read ends of the run's pipes. `adopt` assigns new orphans to their runs, and returns whether there
        were any."""
        self.pid = pid
        """PID of the shell."""
        self.tag = tag
        self.adopt = adopt
        self._pipes = pipes
        self.pipe_names = {procfs.pipe_name(fd) for fd in pipes}
        self.adopted: set[int] = set()
        """Orphans of this run that have become children of the keeper."""
        self.groups: set[int] = {pid}
        """Process groups seen in this run: the only way to find an orphan where there is no subreaper."""
        self.nested_tags: set[int] = set()
        """Tags of other keepers' runs inside this run."""
        self.shell_exited_at: float | None = None
        """Time at which the shell was reaped; None while it is alive."""
        self.empty_pipes_suffice = True
        """Without /proc: do not list processes if none holds the run's pipes and the shell's group is empty."""
        self._exit_rechecks_left = _EXIT_RECHECKS
        """Checks left until processes count as leftovers: they may be about to exit (`exec > >(tee log)`), or be forks
        about to exec."""
        self._ticks_seen: dict[int, int] = {}
        """By PID: CPU ticks of a leftover when it was first checked."""

    @property
    def shell_is_alive(self) -> bool:
        return self.shell_exited_at is None

    @property
    def roots(self) -> set[int]:
        """PIDs of its processes that are children of the keeper."""
        return {self.pid, *self.adopted} if self.shell_is_alive else set(self.adopted)

    def members(self, most: int | None = None) -> dict[int, ProcessInfo]:
        """Return all live processes of the run, parents first. `most`: stop counting at one more than this."""
        if not LINUX:
            return self._members_by_ps()
        return procfs.descendants(self.roots, most)

    def remaining(self) -> dict[int, ProcessInfo]:
        """Return `members`, but look again before reporting none: a process that died since orphans were last adopted
        has left its children to the keeper."""
        members = self.members()
        while not members and self.adopt():
            members = self.members()
        return members

    def should_recheck(self, members: dict[int, ProcessInfo]) -> bool:
        """Return whether to check again before these processes count as leftovers of the dead shell. Checks during
        which a process waits for CPU time are not counted: on a busy machine they take as long as they take."""
        assert self.shell_exited_at is not None
        if not members or not self._exit_rechecks_left:
            return False
        starving = (
            LINUX
            and len(self._ticks_seen) <= _GROWING_ABOVE_PROCESSES
            and any(map(self._is_cpu_starved, members.values()))
        )
        if not starving or time.monotonic() > self.shell_exited_at + _CPU_STARVED_AFTER_S:
            self._exit_rechecks_left -= 1
        return True

    def _is_cpu_starved(self, seen: ProcessInfo) -> bool:
        if seen.is_sleeping:
            return False
        now = procfs.cpu_ticks(seen.pid)
        return now - self._ticks_seen.setdefault(seen.pid, now) < _STARTED_TICKS

    def _members_by_ps(self) -> dict[int, ProcessInfo]:
        if not self.shell_is_alive and self.empty_pipes_suffice and self._looks_empty():
            return {}
        rows = [seen for seen in procfs.ps_processes() if seen.is_alive and seen.pid != os.getpid()]
        mine = {
            s.pid: s for s in rows if s.pid == self.pid or s.pgid in self.groups or procfs.tag_in(s.command) == self.tag
        }
        grown = True
        while grown:
            below = {s.pid: s for s in rows if s.ppid in mine and s.pid not in mine}
            mine.update(below)
            grown = bool(below)
        self.groups |= {seen.pgid for seen in mine.values()}
        return mine

    def _looks_empty(self) -> bool:
        """Return whether no process holds its pipes and the shell's process group is empty: saves a `ps`, which costs
        as much as ten runs."""
        poll = select.poll()
        for fd in self._pipes:
            poll.register(fd, 0)
        if len(poll.poll(0)) < len(self._pipes):
            return False
        try:
            os.killpg(self.pid, 0)
        except OSError:
            return True
        return False


def process_rows(members: dict[int, ProcessInfo]) -> list[ProcessRow]:
    """Return these processes as a report names them."""
    return [(seen.pid, seen.pgid, procfs.command_line(seen)) for seen in members.values()]
