"""The child processes of the keeper: find the run of each orphan, and reap the dead."""

from __future__ import annotations

import os
import signal
import time

from nacre.keeper.protocol import procfs
from nacre.keeper.protocol.ending import UNKILLABLE_AFTER_S
from nacre.keeper.protocol.signals import send_signal
from nacre.keeper.server.run import Run

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_REMEMBERED_TAGS = 1000
_KILL_POLL_S = 0.005


class ChildTable:
    """The keeper's children: shells of runs, orphans of runs, and helpers, which belong to no run."""

    __slots__ = (
        "_engine_daemons",
        "_kill_script_tags",
        "_killed_tags",
        "_orphans",
        "_runs",
        "_shells",
        "helpers",
        "pids",
    )

    def __init__(self, runs: dict[int, Run]) -> None:
        """`runs`: by tag, kept up to date by the caller."""
        self.pids = procfs.own_children()
        """Lists the PIDs of all children."""
        self.helpers: dict[int, Callable[[int], None]] = {}
        """Children that belong to no run, by PID: standby shells, dedicated keepers, programs that restore paths. The
        function is called with the wait status of the child."""
        self._runs = runs
        self._shells: dict[int, Run] = {}
        """Runs whose shell is alive, by its PID."""
        self._orphans: dict[int, Run | None] = {}
        """Adopted orphans by PID; None if no run could be found for one."""
        self._killed_tags: dict[int, None] = {}
        """Tags of the last runs that were killed: processes that turn up with one are killed, too."""
        self._kill_script_tags: dict[int, None] = {}
        """Tags of the last runs with a kill script. Of those, only processes in the run's session belong to the run:
        daemons of an engine's program manage containers, and exit with them."""
        self._engine_daemons: set[int] = set()
        """PIDs of daemons of engine programs."""

    def add_run(self, run: Run) -> None:
        self._shells[run.pid] = run
        if run.start.kill_script:
            _remember_tag(self._kill_script_tags, run.tag)

    def forget_run(self, run: Run) -> None:
        self._shells.pop(run.pid, None)

    def note_killed(self, run: Run) -> None:
        """Note that the run is being killed: so are its orphans that turn up later."""
        _remember_tag(self._killed_tags, run.tag)

    def reap(self, *, adopt_dead: bool) -> list[Run]:
        """Reap all dead children. Returns the runs to which some of them belonged, each once. `adopt_dead`: assign
        children that were never seen alive, too, because their CPU time counts."""
        touched: dict[Run, None] = {}
        while True:
            try:
                if adopt_dead:
                    self._adopt_next_dead()
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if (on_exit := self.helpers.pop(pid, None)) is not None:
                on_exit(status)
                continue
            self._engine_daemons.discard(pid)
            run = self._shells.pop(pid, None) or self._orphans.pop(pid, None)
            if run is not None:
                run.note_exit(pid, status, usage.ru_utime + usage.ru_stime)
                touched[run] = None
        return list(touched)

    def reap_leader(self, run: Run) -> None:
        """Take the wait status of the process that a task is named after: it may have died just now and not be reaped
        yet."""
        leader = run.statuses.leader_pid
        if leader and leader in run.processes.adopted:
            pid, status, usage = os.wait4(leader, os.WNOHANG)
            if pid:
                del self._orphans[pid]
                run.note_exit(pid, status, usage.ru_utime + usage.ru_stime)

    def adopt(self) -> bool:
        """Assign new orphans to their runs; return whether there were any."""
        found = False
        for pid in self.pids():
            if pid not in self._shells and pid not in self._orphans:
                found |= self._adopt_one(pid)
        return found

    def _adopt_one(self, pid: int) -> bool:
        """Assign a child to its run. Returns False for children that belong to no run on purpose."""
        if pid in self.helpers:
            return False
        if self._kill_script_tags and self._is_engine_daemon(pid):
            self._engine_daemons.add(pid)
            return False
        run = self._owner_of(pid)
        self._orphans[pid] = run
        if run is not None:
            run.processes.adopted.add(pid)
        return True

    def _adopt_next_dead(self) -> None:
        """Assign the next child to be reaped, if it is new."""
        dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if dead is not None and dead.si_pid not in self._shells and dead.si_pid not in self._orphans:
            self._adopt_one(dead.si_pid)

    def _is_engine_daemon(self, pid: int) -> bool:
        if pid in self._engine_daemons:
            return True
        tag = procfs.tag_of(pid)
        if tag not in self._kill_script_tags:
            return False
        seen, run = procfs.read_process(pid), self._runs.get(tag)
        if seen is None or run is None or run.ladder.script is None:
            return True
        return seen.sid != run.pid and pid not in run.ladder.script.pids

    def _owner_of(self, pid: int) -> Run | None:
        """Return the run to which an orphan belongs."""
        tag = procfs.tag_of(pid)
        if tag in self._killed_tags and tag not in self._runs:
            send_signal(pid, signal.SIGKILL)  # it escaped the kill ladder
            return None
        if tag in self._runs:
            return self._runs[tag]
        # The tag is gone: `su` resets all limits, and the command may, too. Its session or its pipes may identify it;
        # and if there is only one run, it belongs to that.
        seen = procfs.read_process(pid)
        pipes = procfs.pipes_of(pid)
        for run in self._runs.values():
            own = run.processes
            if tag in own.nested_tags or (seen is not None and seen.sid == run.pid) or pipes & own.pipe_names:
                return run
        return next(iter(self._runs.values())) if len(self._runs) == 1 else None

    def kill_all(self, spared: set[int]) -> None:
        """Kill all remaining descendants of the keeper, but for the children in `spared` and for engine daemons."""
        until = time.monotonic() + UNKILLABLE_AFTER_S
        while time.monotonic() < until:
            members = procfs.descendants(set(self.pids()) - spared - self._engine_daemons)
            for pid in members:
                send_signal(pid, signal.SIGKILL)
            self.reap(adopt_dead=False)
            if not members:
                return
            time.sleep(_KILL_POLL_S)


def _remember_tag(tags: dict[int, None], tag: int) -> None:
    """Add a tag and forget the oldest."""
    tags[tag] = None
    if len(tags) > _MAX_REMEMBERED_TAGS:
        del tags[next(iter(tags))]
