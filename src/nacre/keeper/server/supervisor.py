"""Supervise runs: check for the end of each run, kill it, report it, clean up after it.

The conversation with the host is in `server`, that with clients of a task in `task/control_socket`.
"""

from __future__ import annotations

import time

from nacre.base.system import LINUX
from nacre.keeper.protocol.ending import TIMED_OUT, EndKind, EndReason
from nacre.keeper.protocol.private_tmpdir import remove_private_tmpdir
from nacre.keeper.server.children import ChildTable
from nacre.keeper.server.drain import drain_rest
from nacre.keeper.server.event_loop import EventLoop
from nacre.keeper.server.limits import LimitWatcher
from nacre.keeper.server.memory import oom_kills
from nacre.keeper.server.run import Run, RunningTask
from nacre.keeper.server.task.restoring import PathRestorer
from nacre.keeper.server.task.status import status_of

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from collections.abc import Callable

    from nacre.keeper.protocol.procfs import ProcessInfo

_EXEC_DELAY_S = 0.005
"""Seconds after which a fork has surely execed the program that it is to run."""
_PS_POLL_INTERVAL_S = 1.0
"""Seconds between two checks for leftovers of a task, where no event reports their end."""


class Supervisor:
    """The runs of a keeper."""

    __slots__ = ("_limits", "_restorer", "children", "loop", "on_exit", "on_report", "runs")

    def __init__(self) -> None:
        self.runs: dict[int, Run] = {}
        """Active runs and those with leftovers, by tag."""
        self.loop = EventLoop(self.runs)
        self.children = ChildTable(self.runs)
        self.on_exit: Callable[[Run], None] = _ignore
        """Called when a run's shell has exited or was killed, before that is reported, and again when its leftovers
        have."""
        self.on_report: Callable[[Run], None] = _ignore
        """Called when a run's end was reported to the host."""
        self._limits = LimitWatcher(self.loop, self.terminate)
        self._restorer = PathRestorer(self.loop, self.children, self.finish)

    def add_run(self, run: Run, limits: list[tuple[bytes, float]]) -> None:
        """Supervise a run that has just started. It is killed at its timeout, and when it exceeds one of `limits`."""
        self.runs[run.tag] = run
        self.children.add_run(run)
        if run.start.timeout < float("inf"):
            self.loop.call_at(run.started_at + run.start.timeout, run.tag, lambda: self._time_out(run))
        if limits:
            self._limits.watch(run, limits)
        run.oom_kills = oom_kills()  # slow to read, so not before the run has started

    def _time_out(self, run: Run) -> None:
        """Kill the run at its deadline. Leftovers of a shell that exited in time are not late, unless they are a
        task's."""
        if not run.reported_end and (run.processes.shell_is_alive or run.task is not None):
            self.terminate(run, TIMED_OUT)

    def reap(self) -> None:
        """Reap all dead children, and check the runs to which they belonged."""
        touched = self.children.reap(adopt_dead=self._limits.has_runs)
        if touched:
            self.children.adopt()
            for run in touched:
                self.check_run(run)

    def check_run(self, run: Run) -> None:
        """Check whether the run is over, after one of its processes has died or some time has passed."""
        if run.tag not in self.runs:
            return
        if run.ladder.has_started:
            if not run.processes.roots:  # else the next timed check sees it: one after each death would be expensive
                self._escalate(run)
        elif run.reported_end:
            self._check_leftovers(run)
        elif not run.processes.shell_is_alive:
            members = run.processes.remaining()
            if run.processes.should_recheck(members):
                self.loop.call_at(time.monotonic() + _EXEC_DELAY_S, run.tag, lambda: self.check_run(run))
            elif members and not run.start.keep_leftovers:
                self.terminate(run, run.reason)
            elif members and run.task is not None:
                run.report_running()
                self._check_leftovers(run)
            else:
                self.finish(run)

    def _check_leftovers(self, run: Run) -> None:
        """Finish a run whose shell has exited once none of its processes is alive."""
        if not run.processes.remaining():
            self.finish(run)
        elif run.task is not None and not LINUX:
            self.loop.call_at(time.monotonic() + _PS_POLL_INTERVAL_S, run.tag, lambda: self.check_run(run))

    def kill(self, run: Run, number: int, grace: float, who: str) -> None:
        """Kill a task, as `who` has requested."""
        if run.is_over:
            return
        if not run.ladder.has_started:
            run.ladder.signal, run.ladder.grace = number, grace
            self.terminate(run, EndReason(EndKind.KILL, requester=who))
        else:  # it is being killed: hasten that
            run.ladder.hasten(number, grace)
            self._escalate(run, timed=True)

    def terminate(self, run: Run, reason: EndReason) -> None:
        """Begin to kill a run, unless it is being killed or over."""
        if not run.ladder.has_started and not run.is_over:
            self.children.adopt()
            stays = run.task is None and not run.processes.shell_is_alive
            run.start_termination(run.reason if stays else reason)
            self.children.note_killed(run)
            self._escalate(run, timed=True)

    def _escalate(self, run: Run, *, timed: bool = False) -> None:
        """Take the next step of killing. `timed`: this call keeps the ladder's timer; others only check because a
        process died."""
        self.children.adopt()
        again = run.ladder.escalate(time.monotonic())
        if again is None:
            self.finish(run)
        elif timed:
            self.loop.call_at(again, run.tag, lambda: self._escalate(run, timed=True))

    def finish(self, run: Run) -> None:
        """End a run whose shell has exited or that was killed: restore paths, write the status, report, clean up."""
        self.on_exit(run)
        self.children.reap_leader(run)
        members = run.processes.members()
        over = not members or run.ladder.has_started
        oom = _is_out_of_memory(run)
        if over and run.task is not None:
            if self._restorer.restore(run, run.task):
                return  # changes to protected paths are undone before the end is reported
            _write_task_status(run, run.task, members, oom)
        if not run.reported_end:
            run.report_end(members, out_of_memory=oom)
            self.on_report(run)
        if over:
            self._forget_run(run)

    def _forget_run(self, run: Run) -> None:
        self.runs.pop(run.tag, None)
        self.children.forget_run(run)
        self._limits.forget(run)
        self.loop.forget(run.control)
        for fd in run.pipes:
            self.loop.forget(fd)
        run.close()
        remove_private_tmpdir(run.private_tmpdir)


def _ignore(run: Run) -> None:
    pass


def _write_task_status(run: Run, task: RunningTask, members: dict[int, ProcessInfo], oom: bool) -> None:
    """Write the outcome of a task."""
    assert task.over_at is not None
    drain_rest(run, task.record)
    outcome, words = status_of(run)
    task.record.write_status(
        outcome,
        words,
        took=task.over_at - run.started_at,
        cpu=run.meter.cpu_seconds,
        left=members,
        out_of_memory=oom,
        notes=task.notes,
    )


def _is_out_of_memory(run: Run) -> bool:
    """Return whether the run ran out of memory. The machine's OOM counter does not cover containers: they use the
    engine's note."""
    return run.read_engine_note() if run.start.kill_script else run.was_killed and oom_kills() > run.oom_kills


class RunCommands:
    """Commands that clients may give to a task."""

    __slots__ = ("_supervisor", "run")

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self.run: Run | None = None

    def kill(self, number: int, grace: float, who: str) -> None:
        if self.run is not None:
            self._supervisor.kill(self.run, number, grace, who)

    def close_input(self) -> None:
        if self.run is not None and self.run.task is not None:
            self.run.task.close_input()
