"""Supervise runs: reap and assign processes, check for the end of each run, kill it, clean up after it.

The conversation with the host is in `server`, that with clients of a task in `control_socket`.
"""

from __future__ import annotations

import os
import signal
import time

from nacre.base.system import LINUX
from nacre.keeper.protocol import procfs
from nacre.keeper.protocol.ending import UNKILLABLE_AFTER_S, EndKind, EndReason
from nacre.keeper.protocol.messages import StartMessage
from nacre.keeper.protocol.private_tmpdir import remove_private_tmpdir
from nacre.keeper.protocol.restore_paths import RESTORE_MAX_S, UNRESTORED, read_notes, spawn_restorer
from nacre.keeper.protocol.signals import send_signal
from nacre.keeper.server.drain import drain_rest
from nacre.keeper.server.event_loop import EventLoop
from nacre.keeper.server.priority import set_realtime
from nacre.keeper.server.run import Run
from nacre.keeper.server.task_record import oom_kills
from nacre.keeper.server.task_status import status_of
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
        self.limited_runs: set[int] = set()
        """Tags of runs whose resource usage is measured; while there are any, the keeper runs with real-time
        priority."""
        self.keepers: dict[int, tuple[int | None, bytes] | None] = {}
        """Dedicated keepers by PID. For each with a run: the run's tag, if the run must be killed when its keeper dies,
        and its private directory."""
        self.kill_script_tags: dict[int, None] = {}
        """Tags of the last runs with a kill script. Of those, only processes in the run's session belong to the run:
        daemons of an engine's program manage containers, and exit with them."""
        self.restorers: dict[int, Run | None] = {}
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
                if self.limited_runs:
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
                    self.end_restoring(restored, status)
                continue
            run = self.shells.pop(pid, None)
            if run is not None:
                run.status = status
                run.shell_exited_at = time.monotonic()
            else:
                run = self.adopted.pop(pid, None)
                if run is None:
                    continue
                run.adopted.discard(pid)
                run.note_end(pid, status)
            run.meter.reap(pid, usage.ru_utime + usage.ru_stime)
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
            run.adopted.add(pid)
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
        return seen is None or run is None or (seen.sid != run.pid and pid not in run.script_pids)

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
            if tag in run.nested_tags or (seen is not None and seen.sid == run.pid) or pipes & run.pipes:
                return run
        return next(iter(self.runs.values())) if len(self.runs) == 1 else None

    def check_run(self, run: Run) -> None:
        """Check whether the run is over, after one of its processes has died or some time has passed."""
        if run.tag not in self.runs:
            return
        if run.sigkill_at is not None:
            if not run.roots:  # else the next timed check sees it: a check after each death would be expensive
                self.escalate(run)
        elif run.reported_end:
            self.watch_leftovers(run)
        elif run.status is not None:
            members = run.remaining(self.adopt)
            if run.should_recheck(members):
                self.loop.call_at(time.monotonic() + EXEC_DELAY_S, run.tag, lambda: self.check_run(run))
            elif members and not run.keep_leftovers:
                self.terminate(run, run.reason)
            elif members and run.record is not None:
                run.report_running()
                self.watch_leftovers(run)
            else:
                self.finish(run)

    def watch_leftovers(self, run: Run) -> None:
        """Finish a run whose shell has exited once none of its processes is alive."""
        if not run.remaining(self.adopt):
            self.finish(run)
        elif run.record is not None and not LINUX:
            self.loop.call_at(time.monotonic() + _PS_POLL_INTERVAL_S, run.tag, lambda: self.check_run(run))

    def kill(self, run: Run, number: int, grace: float, who: str) -> None:
        """Kill a task, as `who` has requested."""
        if run.over_at is not None:
            return  # it has ended
        if run.sigkill_at is None:
            run.signal, run.grace = number, grace
            self.terminate(run, EndReason(EndKind.KILL, requester=who))
        else:  # it is being killed: hasten that
            run.hasten(number, grace)
            self.escalate(run, timed=True)

    def terminate(self, run: Run, reason: EndReason) -> None:
        """Begin to kill a run, unless it is being killed or over."""
        if run.sigkill_at is None and run.over_at is None:
            self.adopt()
            stays = run.status is not None and run.record is None
            run.start_termination(run.reason if stays else reason, self.adopt)
            remember_tag(self.recently_killed, run.tag)
            self.escalate(run, timed=True)

    def escalate(self, run: Run, *, timed: bool = False) -> None:
        """Take the next step of killing. `timed`: this call keeps the ladder's timer; others only check because a
        process died."""
        self.adopt()
        again = run.escalate(time.monotonic(), self.adopt)
        if again is None:
            self.finish(run)
        elif timed:
            self.loop.call_at(again, run.tag, lambda: self.escalate(run, timed=True))

    def finish(self, run: Run) -> None:
        """End a run whose shell has exited or that was killed: restore paths, write the status, report, clean up."""
        self.reap_task_leader(run)
        members = run.members()
        over = not members or run.sigkill_at is not None
        oom = _is_out_of_memory(run)
        if over and run.record is not None:
            if self.restores(run):
                return  # changes to protected paths are undone before the end is reported
            self.write_task_status(run, members, oom)
        if not run.reported_end:
            run.report(members, out_of_memory=oom)
            if run.was_signalled:
                self.standby_shells.discard_all()  # whoever sent it may be about to signal all children of the keeper
            if run.start.standby_ok and not self.stopping:
                self.next_start_hint = run.start
        if over:
            self.forget_run(run)

    def reap_task_leader(self, run: Run) -> None:
        """Take the wait status of the process that a task is named after: it may have died just now and not be reaped
        yet."""
        if not run.task_leader or run.task_leader not in run.adopted:
            return
        pid, status, usage = os.wait4(run.task_leader, os.WNOHANG)
        if pid:
            del self.adopted[pid]
            run.adopted.discard(pid)
            run.note_end(pid, status)
            run.meter.reap(pid, usage.ru_utime + usage.ru_stime)

    def write_task_status(self, run: Run, members: dict[int, procfs.ProcessInfo], oom: bool) -> None:
        """Write the outcome of a task."""
        record, run.record = run.record, None
        assert record is not None
        assert run.over_at is not None
        drain_rest(run, record)
        outcome, words = status_of(run)
        took = run.over_at - run.started_at
        record.write_status(
            outcome, words, took=took, cpu=run.meter.cpu_seconds, left=members, out_of_memory=oom, notes=run.notes
        )

    def restores(self, run: Run) -> bool:
        """Return whether the protected paths of an ended task are being restored; start that if there is a snapshot."""
        assert run.record is not None
        if run.over_at is None:
            run.over_at = time.monotonic()
            if run.record.protection:
                try:
                    pid = spawn_restorer(run.record.task_dir, run.record.protection)
                except OSError as error:
                    run.notes = [UNRESTORED % error.strerror]
                else:
                    self.restorers[pid] = run
                    self.loop.call_at(run.over_at + RESTORE_MAX_S, run.tag, lambda: self.give_up_restoring(run, pid))
        return run in self.restorers.values()

    def end_restoring(self, run: Run, status: int) -> None:
        assert run.record is not None
        try:
            run.notes = read_notes(run.record.task_dir) if not status else [UNRESTORED % "the comparison failed"]
        except OSError:
            run.notes = [UNRESTORED % "the comparison failed"]
        self.finish(run)

    def give_up_restoring(self, run: Run, pid: int) -> None:
        """Give up a restoring program that hangs. It may even be unkillable."""
        if self.restorers.get(pid) is not run:
            return
        self.restorers[pid] = None
        send_signal(pid, signal.SIGKILL)
        run.notes = [UNRESTORED % f"that took more than {RESTORE_MAX_S:g} seconds"]
        self.finish(run)

    def forget_run(self, run: Run) -> None:
        self.runs.pop(run.tag, None)
        self.shells.pop(run.pid, None)
        self.loop.forget(run.control)
        run.control.close()
        for fd in run.fds:
            self.loop.forget(fd)
            os.close(fd)
        run.fds.clear()
        run.close_input()
        if run.engine_note is not None:
            os.close(run.engine_note)
        if run.tag in self.limited_runs:
            self.limited_runs.discard(run.tag)
            set_realtime(bool(self.limited_runs))
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
        if self.run is not None:
            self.run.close_input()
