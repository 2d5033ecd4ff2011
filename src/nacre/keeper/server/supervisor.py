"""Supervise runs: reap and assign processes, check for the end of each run, kill it, clean up after it.

The conversation with the host is in `server`, that with clients of a task in `control_socket`.
"""

from __future__ import annotations

import os
import signal
import time

from nacre.base.system import LINUX
from nacre.keeper.protocol import procfs
from nacre.keeper.protocol.ending import KILL, UNKILLABLE_AFTER_S
from nacre.keeper.protocol.messages import StartMessage
from nacre.keeper.protocol.private_tmpdir import remove_private_tmpdir
from nacre.keeper.protocol.restore_paths import RESTORE_MAX_S, UNRESTORED, read_notes, spawn_restorer
from nacre.keeper.protocol.signals import send_signal
from nacre.keeper.server.drain import drain_rest
from nacre.keeper.server.event_loop import EventLoop
from nacre.keeper.server.limits import LimitWatcher
from nacre.keeper.server.memory import oom_kills
from nacre.keeper.server.run import Run, RunningTask
from nacre.keeper.server.task.status import status_of
from nacre.keeper.spawn.standby_shells import StandbyShells

EXEC_DELAY_S = 0.005
"""Seconds after which a fork has surely execed the program that it is to run."""
_MAX_REMEMBERED_TAGS = 1000
_PS_POLL_INTERVAL_S = 1.0
"""Seconds between two checks for leftovers of a task, where no event reports their end."""


def remember_tag(tags: dict[int, None], tag: int) -> None:
    """Add a tag and forget the oldest."""
    tags[tag] = None
    if len(tags) > _MAX_REMEMBERED_TAGS:
        del tags[next(iter(tags))]


class Supervisor:
    """The runs of a keeper and all its child processes."""

    def __init__(self) -> None:
        self.runs: dict[int, Run] = {}
        """Active runs and those with leftovers, by tag."""
        self.shells: dict[int, Run] = {}
        """Runs whose shell is alive, by its PID."""
        self.adopted: dict[int, Run | None] = {}
        """Orphans by PID; None if no run could be found for one."""
        self.recently_killed: dict[int, None] = {}
        """Tags of the last runs that were killed: processes that turn up with one are killed, too."""
        self.keepers: dict[int, tuple[int | None, bytes] | None] = {}
        """Dedicated keepers by PID. For each with a run: the run's tag, if the run must be killed when its keeper dies,
        and its private directory."""
        self.kill_script_tags: dict[int, None] = {}
        """Tags of the last runs with a kill script. Of those, only processes in the run's session belong to the run:
        daemons of an engine's program manage containers, and exit with them."""
        self.restorers: dict[int, tuple[Run, RunningTask] | None] = {}
        """Programs that restore the protected paths of an ended task, by PID; None if given up."""
        self.engine_daemons: set[int] = set()
        """PIDs of daemons of engine programs."""
        self.stopping = False
        """The host is gone, or the keeper serves no further runs."""
        self.standby_shells = StandbyShells()
        self.next_start_hint: StartMessage | None = None
        """Start message of an ended run that the next one is likely to resemble."""
        self.children = procfs.own_children()
        self.loop = EventLoop(self.runs)
        self.limits = LimitWatcher(self.loop, self.terminate)

    def kill_remaining(self) -> None:
        """Kill all remaining descendants before the keeper exits."""
        until = time.monotonic() + UNKILLABLE_AFTER_S
        while time.monotonic() < until:
            members = procfs.descendants(set(self.children()) - self.keepers.keys() - self.engine_daemons)
            for pid in members:
                send_signal(pid, signal.SIGKILL)
            self.reap()
            if not members:
                return
            time.sleep(EXEC_DELAY_S)

    def reap(self) -> None:
        """Reap all dead children, and check the runs to which they belonged."""
        touched: list[Run] = []
        while True:
            try:
                if self.limits.has_runs:
                    self.adopt_dead()
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if self.standby_shells.on_exit(pid) or pid in self.engine_daemons:
                self.engine_daemons.discard(pid)
                continue
            if pid in self.keepers:
                self.on_keeper_exit(self.keepers.pop(pid), status)
                continue
            if pid in self.restorers:
                if (restored := self.restorers.pop(pid)) is not None:
                    self.end_restoring(*restored, status)
                continue
            run = self.shells.pop(pid, None)
            if run is None:
                run = self.adopted.pop(pid, None)
                if run is None:
                    continue
            run.note_exit(pid, status, usage.ru_utime + usage.ru_stime)
            touched.append(run)
        if touched:
            self.adopt()
            for run in dict.fromkeys(touched):  # once for each run, however many of its processes have died
                self.check_run(run)

    def on_keeper_exit(self, kept: tuple[int | None, bytes] | None, status: int) -> None:
        """Handle the exit of a dedicated keeper. If it was killed, kill its run and remove its private directory."""
        if kept is not None and status:
            tag, private = kept
            if tag is not None:
                _kill_by_tag(tag)
            remove_private_tmpdir(private)

    def adopt(self) -> bool:
        """Assign new orphans to their runs; return whether there were any."""
        found = False
        for pid in self.children():
            if pid not in self.shells and pid not in self.adopted:
                found |= self.adopt_one(pid)
        return found

    def adopt_one(self, pid: int) -> bool:
        """Assign a child to its run. Returns False for children that belong to no run on purpose."""
        if pid in self.standby_shells.pids or pid in self.keepers or pid in self.restorers:
            return False
        if self.kill_script_tags and self.is_engine_daemon(pid):
            self.engine_daemons.add(pid)
            return False
        run = self.owner_of(pid)
        self.adopted[pid] = run
        if run is not None:
            run.processes.adopted.add(pid)
        return True

    def adopt_dead(self) -> None:
        """Assign the next child to be reaped, if it is new: an orphan may die before it was seen, and its CPU time
        counts."""
        dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if dead is not None and dead.si_pid not in self.shells and dead.si_pid not in self.adopted:
            self.adopt_one(dead.si_pid)

    def is_engine_daemon(self, pid: int) -> bool:
        if pid in self.engine_daemons:
            return True
        tag = procfs.tag_of(pid)
        if tag not in self.kill_script_tags:
            return False
        seen, run = procfs.read_process(pid), self.runs.get(tag)
        if seen is None or run is None or run.ladder.script is None:
            return True
        return seen.sid != run.pid and pid not in run.ladder.script.pids

    def owner_of(self, pid: int) -> Run | None:
        """Return the run to which an orphan belongs."""
        tag = procfs.tag_of(pid)
        if tag in self.recently_killed and tag not in self.runs:
            send_signal(pid, signal.SIGKILL)  # it escaped the kill ladder
            return None
        if tag in self.runs:
            return self.runs[tag]
        # The tag is gone: `su` resets all limits, and the command may, too. Its session or its pipes may identify it;
        # and if there is only one run, it belongs to that.
        seen = procfs.read_process(pid)
        pipes = procfs.pipes_of(pid)
        for run in self.runs.values():
            if (
                tag in run.processes.nested_tags
                or (seen is not None and seen.sid == run.pid)
                or pipes & run.processes.pipe_names
            ):
                return run
        return next(iter(self.runs.values())) if len(self.runs) == 1 else None

    def check_run(self, run: Run) -> None:
        """Check whether the run is over, after one of its processes has died or some time has passed."""
        if run.tag not in self.runs:
            return
        if run.ladder.has_started:
            if (
                not run.processes.roots
            ):  # else the next timed check sees it: a check after each death would be expensive
                self.escalate(run)
        elif run.reported_end:
            self.watch_leftovers(run)
        elif not run.processes.shell_is_alive:
            members = run.processes.remaining()
            if run.processes.should_recheck(members):
                self.loop.call_at(time.monotonic() + EXEC_DELAY_S, run.tag, lambda: self.check_run(run))
            elif members and not run.start.keep_leftovers:
                self.terminate(run, run.reason)
            elif members and run.task is not None:
                run.report_running()
                self.watch_leftovers(run)
            else:
                self.finish(run)

    def watch_leftovers(self, run: Run) -> None:
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
            self.terminate(run, b"%b %b" % (KILL, who.encode("utf-8", "replace")))
        else:  # it is being killed: hasten that
            run.ladder.hasten(number, grace)
            self.escalate(run, timed=True)

    def terminate(self, run: Run, reason: bytes) -> None:
        """Begin to kill a run, unless it is being killed or over."""
        if not run.ladder.has_started and not run.is_over:
            self.adopt()
            stays = run.task is None and not run.processes.shell_is_alive
            run.start_termination(run.reason if stays else reason)
            remember_tag(self.recently_killed, run.tag)
            self.escalate(run, timed=True)

    def escalate(self, run: Run, *, timed: bool = False) -> None:
        """Take the next step of killing. `timed`: this call keeps the ladder's timer; others only check because a
        process died."""
        self.adopt()
        again = run.ladder.escalate(time.monotonic())
        if again is None:
            self.finish(run)
        elif timed:
            self.loop.call_at(again, run.tag, lambda: self.escalate(run, timed=True))

    def finish(self, run: Run) -> None:
        """End a run whose shell has exited or that was killed: restore paths, write the status, report, clean up."""
        self.reap_task_leader(run)
        members = run.processes.members()
        over = not members or run.ladder.has_started
        oom = _is_out_of_memory(run)
        if over and run.task is not None:
            if self.restores(run, run.task):
                return  # changes to protected paths are undone before the end is reported
            write_task_status(run, run.task, members, oom)
        if not run.reported_end:
            run.report_end(members, out_of_memory=oom)
            if run.was_signalled:
                self.standby_shells.discard_all()  # whoever sent it may be about to signal all children of the keeper
            if run.start.standby_ok and not self.stopping:
                self.next_start_hint = run.start
        if over:
            self.forget_run(run)

    def reap_task_leader(self, run: Run) -> None:
        """Take the wait status of the process that a task is named after: it may have died just now and not be reaped
        yet."""
        leader = run.statuses.leader_pid
        if leader and leader in run.processes.adopted:
            pid, status, usage = os.wait4(leader, os.WNOHANG)
            if pid:
                del self.adopted[pid]
                run.note_exit(pid, status, usage.ru_utime + usage.ru_stime)

    def restores(self, run: Run, task: RunningTask) -> bool:
        """Return whether the protected paths of an ended task are being restored; start that if there is a snapshot."""
        if task.over_at is None:
            task.over_at = time.monotonic()
            if task.record.protection:
                try:
                    pid = spawn_restorer(task.record.task_dir, task.record.protection)
                except OSError as error:
                    task.notes = [UNRESTORED % error.strerror]
                else:
                    self.restorers[pid] = run, task
                    self.loop.call_at(
                        task.over_at + RESTORE_MAX_S, run.tag, lambda: self.give_up_restoring(run, task, pid)
                    )
        return (run, task) in self.restorers.values()

    def end_restoring(self, run: Run, task: RunningTask, status: int) -> None:
        try:
            task.notes = read_notes(task.record.task_dir) if not status else [UNRESTORED % "the comparison failed"]
        except OSError:
            task.notes = [UNRESTORED % "the comparison failed"]
        self.finish(run)

    def give_up_restoring(self, run: Run, task: RunningTask, pid: int) -> None:
        """Give up a restoring program that hangs. It may even be unkillable."""
        if self.restorers.get(pid) is None:
            return
        self.restorers[pid] = None
        send_signal(pid, signal.SIGKILL)
        task.notes = [UNRESTORED % f"that took more than {RESTORE_MAX_S:g} seconds"]
        self.finish(run)

    def forget_run(self, run: Run) -> None:
        self.runs.pop(run.tag, None)
        self.shells.pop(run.pid, None)
        self.loop.forget(run.control)
        run.control.close()
        for fd in run.pipes:
            self.loop.forget(fd)
            os.close(fd)
        run.pipes.clear()
        if run.task is not None:
            run.task.close_input()
        if run.engine_note is not None:
            os.close(run.engine_note)
        self.limits.forget(run)
        remove_private_tmpdir(run.private_tmpdir)


def _kill_by_tag(tag: int) -> None:
    until = time.monotonic() + UNKILLABLE_AFTER_S
    while time.monotonic() < until:
        try:
            left = procfs.find_by_tag(tag, tag)
        except OSError:
            return  # the whole system is out of descriptors
        if not left:
            return
        for pid in left:
            send_signal(pid, signal.SIGKILL)
        time.sleep(EXEC_DELAY_S / 5)


def write_task_status(run: Run, task: RunningTask, members: dict[int, procfs.ProcessInfo], oom: bool) -> None:
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
