"""A run in the keeper: its shell, its pipes, its processes, and how it is killed.

The kill ladder: SIGTERM to all processes, `grace` seconds, SIGKILL, then checks until none is left or
`UNKILLABLE_AFTER_S` seconds have passed; survivors are reported. Nothing here blocks: the event loop calls `escalate`
when it is due.
"""

from __future__ import annotations

import os
import select
import signal
import time

from nacre.base.system import LINUX
from nacre.keeper.protocol import procfs
from nacre.keeper.protocol.channel import Channel
from nacre.keeper.protocol.ending import EXITED, KILL_SCRIPT_TIMEOUT_S, UNKILLABLE_AFTER_S, EndKind, EndReason
from nacre.keeper.protocol.messages import MalformedMessage, StartMessage
from nacre.keeper.protocol.procfs import ProcessInfo
from nacre.keeper.protocol.replies import EndedReply, RunningReply
from nacre.keeper.protocol.signals import send_signal, stop_processes, stop_tree
from nacre.keeper.server.usage import Meter
from nacre.keeper.spawn.shell import Shell, spawn_kill_script

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from collections.abc import Callable

    from nacre.keeper.protocol.replies import ProcessRow
    from nacre.keeper.server.task_record import TaskRecord

_FREEZE_INTERVAL_S = 0.0005
_FREEZE_ROUNDS = 5 if LINUX else 0
"""Each round lists all processes. With `ps` instead of /proc, twenty runs that end at once would delay each other."""
_MAX_KILL_S = 10.0
"""Seconds after which a run that keeps creating processes is given up."""
_MAX_STARVED_KILL_S = 300.0
"""Seconds after which a run is given up whose killed processes wait for CPU time to exit."""
_STOP_FIRST_ABOVE_PROCESSES = 200
"""Runs with more processes than this are stopped before anything is read about each process."""
_CPU_STARVED_AFTER_S = 2.0
"""Seconds to wait for CPU time for leftovers that have work to do and have had none."""
_STARTED_TICKS = 2
"""Ticks (hundredths of a second) of CPU time after which a leftover is considered to be working."""
_GROWING_ABOVE_PROCESSES = 16
"""More CPU-starved leftovers than this are a growing tree, not processes about to exit."""
_RESEND_INTERVAL_S = 1.0
_MAX_NOTE_BYTES = 1 << 16
_FIRST_POLL_S = 0.01
_POLL_INTERVAL_S = 0.05


class Run:
    """A run: the state of one command, its processes and its task, if it is one."""

    __slots__ = (
        "adopted",
        "all_sleeping",
        "control",
        "deadline",
        "engine_note",
        "exit_rechecks_left",
        "fds",
        "grace",
        "groups",
        "keep_leftovers",
        "kill_started_at",
        "killed_pids",
        "leader_status",
        "leftovers",
        "memory_suspect",
        "meter",
        "nested_tags",
        "notes",
        "oom_kills",
        "over_at",
        "pid",
        "pipes",
        "private_tmpdir",
        "reason",
        "record",
        "reported_end",
        "reported_running",
        "script_called_at",
        "script_pids",
        "shell_exited_at",
        "sigkill_at",
        "signal",
        "start",
        "started_at",
        "status",
        "stdin_fd",
        "survivors",
        "tag",
        "task_leader",
        "ticks_seen",
        "unexeced_forks",
    )

    def __init__(self, start: StartMessage, shell: Shell, control: Channel) -> None:
        self.start = start
        self.tag = start.tag
        self.grace = start.grace
        self.keep_leftovers = start.keep_leftovers
        self.pid = shell.pid
        self.fds = shell.pipes
        self.private_tmpdir = shell.private_tmpdir
        self.control = control
        self.started_at = time.monotonic()
        self.deadline = self.started_at + start.timeout
        self.pipes = {procfs.pipe_name(fd) for fd in self.fds}
        self.reason = EXITED
        self.signal = int(signal.SIGTERM)
        """First signal when it is killed."""
        self.record: TaskRecord | None = None
        """Set if the run is a task: its files."""
        self.task_leader: int | None = None
        """For a task made of leftovers: PID of the process that it is named after; 0 once that is dead."""
        self.leader_status: int | None = None
        """Wait status of `task_leader`; until that is known, of the last leftover to die."""
        self.reported_running = False
        """For a task: the host was told that it runs."""
        self.stdin_fd: int | None = None
        """Write end of a task's stdin, while that is open."""
        self.engine_note: int | None = None
        """For a run with a kill script: file in which its shell notes what happened in the engine."""
        self.oom_kills = 0
        """Machine-wide count of OOM kills when the run began."""
        self.over_at: float | None = None
        """For a task: time at which its last process was gone."""
        self.notes: list[str] = []
        """For a task: notes on restored paths."""
        self.all_sleeping = False
        self.memory_suspect = False
        """Whether the last measurement exceeded the memory limit, to be confirmed by the next."""
        self.meter = Meter()
        self.status: int | None = None
        """Wait status of the shell, once it is dead."""
        self.shell_exited_at = self.started_at
        """Time of the shell's death."""
        self.reported_end = False
        """The end was reported to the host."""
        self.sigkill_at: float | None = None
        """Time of SIGKILL; set while the run is being killed."""
        self.kill_started_at: float | None = None
        self.survivors = 0
        """Number of processes alive at the last check since SIGKILL."""
        self.killed_pids: set[int] = set()
        """Processes that were sent SIGKILL."""
        self.script_called_at = 0.0
        """Time of the last start of the kill script."""
        self.script_pids: set[int] = set()
        """PIDs of kill scripts."""
        self.adopted: set[int] = set()
        """Orphans of this run that have become children of the keeper."""
        self.unexeced_forks: set[int] = set()
        """Forks of the shell that were sent SIGTERM before they execed."""
        self.nested_tags: set[int] = set()
        """Tags of other keepers' runs inside this run."""
        self.leftovers: list[ProcessRow] = []
        """Leftovers that were killed."""
        self.exit_rechecks_left = 6
        """Checks left until processes count as leftovers: they may be about to exit (`exec > >(tee log)`), or be forks
        about to exec."""
        self.ticks_seen: dict[int, int] = {}
        """By PID: CPU ticks of a leftover when it was first checked."""
        self.groups: set[int] = {shell.pid}
        """Process groups seen in this run: the only way to find an orphan where there is no subreaper."""

    # processes

    @property
    def roots(self) -> set[int]:
        """PIDs of its processes that are children of the keeper."""
        return set(self.adopted) if self.status is not None else {self.pid, *self.adopted}

    def members(self, most: int | None = None) -> dict[int, ProcessInfo]:
        """Return all live processes of the run, parents first. `most`: stop counting at one more than this."""
        if not LINUX:
            return self._members_by_ps()
        return procfs.descendants(self.roots, most)

    def remaining(self, adopt: Callable[[], bool]) -> dict[int, ProcessInfo]:
        """Return `members`, but look again before reporting none: a process that died since `adopt` ran has left its
        children to the keeper."""
        members = self.members()
        while not members and adopt():
            members = self.members()
        return members

    def should_recheck(self, members: dict[int, ProcessInfo]) -> bool:
        """Return whether to check again before these processes count as leftovers. Checks during which a process waits
        for CPU time are not counted: on a busy machine they take as long as they take."""
        if not members or not self.exit_rechecks_left:
            return False
        starving = (
            LINUX
            and len(self.ticks_seen) <= _GROWING_ABOVE_PROCESSES
            and any(map(self._is_cpu_starved, members.values()))
        )
        if not starving or time.monotonic() > self.shell_exited_at + _CPU_STARVED_AFTER_S:
            self.exit_rechecks_left -= 1
        return True

    def _is_cpu_starved(self, seen: ProcessInfo) -> bool:
        if seen.is_sleeping:
            return False
        now = procfs.cpu_ticks(seen.pid)
        return now - self.ticks_seen.setdefault(seen.pid, now) < _STARTED_TICKS

    def _members_by_ps(self) -> dict[int, ProcessInfo]:
        if self.status is not None and self._looks_empty():
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
        """Return whether no process holds its pipes and its process group is empty: saves a `ps`, which costs as much
        as ten runs."""
        if self.sigkill_at is not None:
            return False
        poll = select.poll()
        for fd in self.fds:
            poll.register(fd, 0)
        if len(poll.poll(0)) < len(self.fds):
            return False
        try:
            os.killpg(self.pid, 0)
        except OSError:
            return True
        return False

    # killing

    def start_termination(self, reason: EndReason, adopt: Callable[[], bool]) -> None:
        """Begin to kill the run. Only once: processes started from now on are clean-up, which a second SIGTERM would
        kill.

        All processes are stopped first, until no new one turns up: a child that is being forked would miss the SIGTERM,
        and its shell would wait for it instead of running its trap.
        """
        self.reason = reason
        if self.start.kill_script and self.status is not None:
            self.leftovers = _process_rows(self.members())
        if self.start.kill_script and self._run_kill_script():
            self.script_called_at = time.monotonic()
            self.sigkill_at = self.script_called_at + self.grace + KILL_SCRIPT_TIMEOUT_S
            return
        if reason.kind is EndKind.LIMIT or self.signal == signal.SIGKILL:
            self.sigkill_at = time.monotonic()  # a run over its limit gets no grace
            return
        members = self.members(_STOP_FIRST_ABOVE_PROCESSES)
        if LINUX and len(members) > _STOP_FIRST_ABOVE_PROCESSES:
            stop_processes(members)
            self._stop_all(adopt)
            members = self.members()
        self.all_sleeping = all(seen.is_sleeping for seen in members.values())
        if self.status is not None:
            self.leftovers = _process_rows(members)
        stopped: set[int] = set()
        for _ in range(_FREEZE_ROUNDS):
            if not members.keys() - stopped:
                break
            for pid in members.keys() - stopped:
                send_signal(pid, signal.SIGSTOP)
            stopped |= members.keys()
            time.sleep(_FREEZE_INTERVAL_S)
            adopt()
            members = self.members()
        self.unexeced_forks = {pid for pid, seen in members.items() if pid != self.pid and procfs.has_not_execed(seen)}
        for number in (self.signal, signal.SIGCONT):
            for pid in members:
                send_signal(pid, number)
        self.sigkill_at = time.monotonic() + self.grace

    def _run_kill_script(self) -> bool:
        """Start the kill script. Returns False if no process is available for it."""
        wild = self.reason.kind is EndKind.LIMIT or self.signal == signal.SIGKILL
        try:
            number, grace = (signal.SIGKILL, 0.0) if wild else (self.signal, self.grace)
            self.script_pids.add(spawn_kill_script(self.start, number, grace))
        except OSError:
            return False
        return True

    def _resend_kill_script(self, now: float, members: dict[int, ProcessInfo]) -> None:
        """Repeat the kill script: the first one may have run before there was anything to kill."""
        if (
            self.start.kill_script
            and now > self.script_called_at + _RESEND_INTERVAL_S + self.grace
            and not self.script_pids & members.keys()
        ):
            self.script_called_at = now
            self.signal = signal.SIGKILL
            self._run_kill_script()

    def hasten(self, number: int, grace: float) -> None:
        """Shorten the remaining time of a run that is being killed."""
        assert self.sigkill_at is not None
        if not self.start.kill_script:
            self.sigkill_at = min(self.sigkill_at, time.monotonic() + (0 if number == signal.SIGKILL else grace))
        elif number == signal.SIGKILL:
            self.signal = number
            self._run_kill_script()

    def _stop_all(self, adopt: Callable[[], bool]) -> set[int]:
        """Stop all its processes, until no new one turns up: a single listing misses what is being forked, and a fork
        bomb escapes all of them."""

        def find_roots() -> set[int]:
            adopt()
            return self.roots

        if self.status is None:
            send_signal(-self.pid, signal.SIGSTOP)
        return stop_tree(find_roots)

    def _kill_all(self, stopped: set[int]) -> None:
        """Kill processes that are all stopped."""
        for pid in stopped:
            send_signal(pid, signal.SIGKILL)
        now = time.monotonic()
        if stopped - self.killed_pids and now < (self.sigkill_at or now) + _MAX_KILL_S:
            self.kill_started_at = now  # the tree was still growing
        self.killed_pids |= stopped

    def resend_signal(self, members: dict[int, ProcessInfo]) -> None:
        """Resend the signal to forks that have execed since: bash may have taken the SIGTERM as its own, and dropped
        it."""
        for pid in [pid for pid in self.unexeced_forks if pid in members and not procfs.has_not_execed(members[pid])]:
            self.unexeced_forks.discard(pid)
            send_signal(pid, self.signal)

    def escalate(self, now: float, adopt: Callable[[], bool]) -> float | None:
        """Take the next step of killing. Returns when to check again; None when nothing is left to do."""
        assert self.sigkill_at is not None
        stopped = self._stop_all(adopt) if LINUX and now >= self.sigkill_at else set[int]()
        members = self.remaining(adopt)
        if not members and self.status is not None:
            return None
        if now < self.sigkill_at:
            self.resend_signal(members)
            self._resend_kill_script(now, members)
            return min(now + _POLL_INTERVAL_S, self.sigkill_at)
        if self.kill_started_at is None:
            self.kill_started_at = now  # the first SIGKILL, however late: the machine may have slept
        elif self._is_unkillable(now, members):
            return None
        if LINUX:
            self.nested_tags |= {tag for tag in map(procfs.tag_of, members) if tag is not None} - {self.tag}
            self._kill_all(stopped)
        for group in {seen.pgid for seen in members.values()}:
            # the whole group at once: a process that forks could outrun signals sent one by one
            send_signal(-group, signal.SIGKILL)
        for pid in members:
            send_signal(pid, signal.SIGKILL)
        return now + _FIRST_POLL_S

    def _is_unkillable(self, now: float, members: dict[int, ProcessInfo]) -> bool:
        """Return whether the survivors will not exit. As long as some of them do, the rest may follow, and those that
        wait for CPU time when they get it."""
        assert self.sigkill_at is not None
        assert self.kill_started_at is not None
        fewer, self.survivors = len(members) < self.survivors, len(members)
        if fewer or (LINUX and any(seen.state == "R" and seen.is_killed for seen in members.values())):
            self.kill_started_at = now
        return now > self.kill_started_at + UNKILLABLE_AFTER_S or now > self.sigkill_at + _MAX_STARVED_KILL_S

    def report_running(self) -> None:
        """Report to the host that the task runs, even if its shell has exited."""
        if not self.reported_running:
            self.reported_running = True
            try:
                self.control.send(RunningReply().message())
            except OSError:
                pass  # no listener

    def close_input(self) -> None:
        """Close stdin: the task reads EOF."""
        if self.stdin_fd is not None:
            os.close(self.stdin_fd)
            self.stdin_fd = None

    def note_end(self, pid: int, status: int) -> None:
        """Note the wait status of a dead leftover."""
        if self.task_leader != 0:
            self.leader_status = status
        if self.task_leader == pid:
            self.task_leader = 0

    # reports to the host

    def read_engine_note(self) -> bool:
        """Read the engine's note: take over the limit that the run exceeded there, and return whether it ran out of
        memory there."""
        lines = [] if self.engine_note is None else os.pread(self.engine_note, _MAX_NOTE_BYTES, 0).splitlines()
        limit = next((line for line in lines if line.startswith(EndKind.LIMIT.value)), None)
        if limit is not None and self.reason.kind is EndKind.EXIT:
            try:
                self.reason = EndReason.parse(limit)
            except MalformedMessage:
                pass
        return b"oom" in lines and self.was_killed

    @property
    def was_killed(self) -> bool:
        """Whether its shell, or the last process that the shell waited for, was killed by a SIGKILL that nacre did not
        send."""
        status = self.status if self.task_leader is None else self.leader_status
        return self.reason.kind is EndKind.EXIT and status in (signal.SIGKILL, (128 + signal.SIGKILL) << 8)

    @property
    def was_signalled(self) -> bool:
        """Whether its shell was killed by a signal that nacre did not send."""
        return self.reason.kind is EndKind.EXIT and self.status is not None and os.WIFSIGNALED(self.status)

    def report(self, members: dict[int, ProcessInfo], *, out_of_memory: bool) -> None:
        """Report the end to the host, if that still exists."""
        self.reported_end = True
        status = -1 if self.status is None else self.status
        took = (self.shell_exited_at if self.status is not None else time.monotonic()) - self.started_at
        reply = EndedReply(
            status,
            self.reason,
            took,
            all_sleeping=self.all_sleeping,
            out_of_memory=out_of_memory,
            killed_leftovers=self.leftovers,
            running=_process_rows(members),
        )
        try:
            self.control.send(reply.message())
        except OSError:
            pass


def _process_rows(members: dict[int, ProcessInfo]) -> list[ProcessRow]:
    return [(seen.pid, seen.pgid, procfs.command_line(seen)) for seen in members.values()]
