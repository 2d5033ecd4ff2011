"""A run as the keeper knows it: its shell, its pipes, everything that belongs to it, and how it is ended.

The kill ladder: TERM to all of it, `grace` seconds, KILL, look again until nothing is left or `GIVE_UP` seconds have
passed; what is left then is reported. A run never waits: the keeper's loop calls `climb` when it is due.
"""

from __future__ import annotations

import os
import select
import signal
import time

from nacre.base.system import LINUX
from nacre.keeper.protocol import procfs
from nacre.keeper.protocol.channel import Channel
from nacre.keeper.protocol.ending import EXIT, KILL_SCRIPT_TIMEOUT_S, LIMIT, UNKILLABLE_AFTER_S
from nacre.keeper.protocol.messages import ENDED, RUNNING, StartMessage
from nacre.keeper.protocol.procfs import ProcessInfo
from nacre.keeper.protocol.signals import send_signal, stop_processes, stop_tree
from nacre.keeper.server.usage import Meter
from nacre.keeper.spawn.shell import Shell, spawn_kill_script

TYPE_CHECKING = False  # see wire.py
if TYPE_CHECKING:
    from collections.abc import Callable

    from nacre.keeper.server.task_record import TaskRecord

_FREEZE_INTERVAL_S = 0.0005
_FREEZE_ROUNDS = 5 if LINUX else 0
"""Each is a look; where that is a `ps`, twenty runs that end at once would keep each other waiting."""
_MAX_KILL_S = 10.0
"""Seconds after which even a run that brings forth new processes all the time is given up."""
_MAX_STARVED_KILL_S = 300.0
"""The same for one whose processes were killed and wait for a processor to end on."""
_STOP_FIRST_ABOVE_PROCESSES = 200
"""Processes of a run that are stopped before anything is looked up about them, if there are more."""
_CPU_STARVED_AFTER_S = 2.0
"""Seconds for what a shell left running to get a processor, if it has work to do and has had none."""
_STARTED_TICKS = 2
"""Ticks of computing, a hundredth of a second each, after which it goes on with what it has to do."""
_GROWING_ABOVE_PROCESSES = 16
"""Such processes that are more than these are not about to end: they grow."""
_RESEND_INTERVAL_S = 1.0
_MAX_NOTE_BYTES = 1 << 16
_FIRST_POLL_S = 0.01
_POLL_INTERVAL_S = 0.05


class Run:
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
        self.reason = EXIT
        self.signal = int(signal.SIGTERM)
        """What it is asked to end with."""
        self.record: TaskRecord | None = None
        """It is a task, and this is where that is written down."""
        self.task_leader: int | None = None
        """Of a task that is made of what a shell left running: the one that it is named after; 0 when that is dead."""
        self.leader_status: int | None = None
        """That one's wait status; until it is known, that of the last to die."""
        self.reported_running = False
        """Of a task: the host has been told that it goes on."""
        self.stdin_fd: int | None = None
        """Our end of a task's standard input, while that is open."""
        self.engine_note: int | None = None
        """Of one that has an ender: where its shell notes what became of it there."""
        self.oom_kills = 0
        """How many processes the kernel had ended for want of memory when it began, anywhere on the machine."""
        self.over_at: float | None = None
        """Of a task: when nothing of it was left."""
        self.notes: list[str] = []
        """Of a task: what was put back of the paths that are protected from it."""
        self.all_sleeping = False
        self.memory_suspect = False
        """It seemed to have too much memory, a moment ago."""
        self.meter = Meter()
        self.status: int | None = None
        """The shell's wait status, once it is dead."""
        self.shell_exited_at = self.started_at
        """When the shell died."""
        self.reported_end = False
        """The host has been told."""
        self.sigkill_at: float | None = None
        """Set while the ladder is climbed."""
        self.kill_started_at: float | None = None
        self.survivors = 0
        """How many of its processes were alive at the last look since KILL."""
        self.killed_pids: set[int] = set()
        """Processes that were sent KILL."""
        self.script_called_at = 0.0
        """When its ender was last called."""
        self.script_pids: set[int] = set()
        """Processes that were started to end it."""
        self.adopted: set[int] = set()
        """Processes of this run that have become children of the keeper."""
        self.unexeced_forks: set[int] = set()
        """Forks of the shell that were sent TERM before they became another program."""
        self.nested_tags: set[int] = set()
        """Tags of other keepers that run inside this run."""
        self.leftovers = b""
        """For the report: what the shell had left running, when that is ended."""
        self.exit_rechecks_left = 6
        """How often to look again before something counts as left over: it may be about to end (`exec > >(tee log)`),
        or be a fork about to become another program."""
        self.ticks_seen: dict[int, int] = {}
        """By pid: how many ticks something that the shell left running had computed when it was first looked at."""
        self.groups: set[int] = {shell.pid}
        """Process groups seen in this run; all that finds an orphan where there is no subreaper."""

    # what belongs to it

    @property
    def roots(self) -> set[int]:
        """Those of its processes that are children of the keeper."""
        return set(self.adopted) if self.status is not None else {self.pid, *self.adopted}

    def members(self, most: int | None = None) -> dict[int, ProcessInfo]:
        """Everything of this run that is alive, parents first. `most`: at least one more is enough, if there are."""
        if not LINUX:
            return self._members_by_ps()
        return procfs.descendants(self.roots, most)

    def remaining(self, adopt: Callable[[], bool]) -> dict[int, ProcessInfo]:
        """The same, before it is said to be nothing: who has died since `adopt` looked has left us what it started."""
        members = self.members()
        while not members and adopt():
            members = self.members()
        return members

    def should_recheck(self, members: dict[int, ProcessInfo]) -> bool:
        """Whether to look again before this counts as left over. A look at what waits for a processor does not count:
        on a busy machine it takes as long as it takes."""
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
        """Nobody holds its pipes and its process group is empty: not worth a `ps`, which costs ten runs."""
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

    # how it is ended

    def start_termination(self, reason: bytes, adopt: Callable[[], bool]) -> None:
        """The first rung. Once: what is started from now on is clean-up, and a second TERM would end that too.

        Everything is stopped first, until no more of it turns up: a child that is being forked just now would miss the
        TERM, and its shell would wait for it instead of running its trap.
        """
        self.reason = reason
        if self.start.kill_script and self.status is not None:
            self.leftovers = _encode_processes(b"ended", self.members())
        if self.start.kill_script and self._run_kill_script():
            self.script_called_at = time.monotonic()
            self.sigkill_at = self.script_called_at + self.grace + KILL_SCRIPT_TIMEOUT_S
            return
        if reason.startswith(LIMIT) or self.signal == signal.SIGKILL:
            self.sigkill_at = time.monotonic()  # what runs wild gets no time to run on
            return
        members = self.members(_STOP_FIRST_ABOVE_PROCESSES)
        if LINUX and len(members) > _STOP_FIRST_ABOVE_PROCESSES:
            stop_processes(members)
            self._stop_all(adopt)
            members = self.members()
        self.all_sleeping = all(seen.is_sleeping for seen in members.values())
        if self.status is not None:
            self.leftovers = _encode_processes(b"ended", members)
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
        """Have it ended where it is. False: there is no process to be had for that."""
        wild = self.reason.startswith(LIMIT) or self.signal == signal.SIGKILL
        try:
            number, grace = (signal.SIGKILL, 0.0) if wild else (self.signal, self.grace)
            self.script_pids.add(spawn_kill_script(self.start, number, grace))
        except OSError:
            return False
        return True

    def _resend_kill_script(self, now: float, members: dict[int, ProcessInfo]) -> None:
        """An ender may have come before there was anything to end."""
        if (
            self.start.kill_script
            and now > self.script_called_at + _RESEND_INTERVAL_S + self.grace
            and not self.script_pids & members.keys()
        ):
            self.script_called_at = now
            self.signal = signal.SIGKILL
            self._run_kill_script()

    def hasten(self, number: int, grace: float) -> None:
        """It is about to end."""
        assert self.sigkill_at is not None
        if not self.start.kill_script:
            self.sigkill_at = min(self.sigkill_at, time.monotonic() + (0 if number == signal.SIGKILL else grace))
        elif number == signal.SIGKILL:
            self.signal = number
            self._run_kill_script()

    def _stop_all(self, adopt: Callable[[], bool]) -> set[int]:
        """Everything of it that can be found, until there is nothing new: what is being forked just now is missed by
        any single look, and a fork bomb by all of them."""

        def find_roots() -> set[int]:
            adopt()
            return self.roots

        if self.status is None:
            send_signal(-self.pid, signal.SIGSTOP)
        return stop_tree(find_roots)

    def _kill_all(self, stopped: set[int]) -> None:
        """All of it stands still."""
        for pid in stopped:
            send_signal(pid, signal.SIGKILL)
        now = time.monotonic()
        if stopped - self.killed_pids and now < (self.sigkill_at or now) + _MAX_KILL_S:
            self.kill_started_at = now  # it still grew
        self.killed_pids |= stopped

    def resend_signal(self, members: dict[int, ProcessInfo]) -> None:
        """A fork that has become another program since: bash may have taken the TERM for its own, and forgotten it."""
        for pid in [pid for pid in self.unexeced_forks if pid in members and not procfs.has_not_execed(members[pid])]:
            self.unexeced_forks.discard(pid)
            send_signal(pid, self.signal)

    def escalate(self, now: float, adopt: Callable[[], bool]) -> float | None:
        """When to look again; None when there is nothing more to do."""
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
            self.kill_started_at = now  # the first KILL, however late: the machine may have slept
        elif self._is_unkillable(now, members):
            return None
        if LINUX:
            self.nested_tags |= {tag for tag in map(procfs.tag_of, members) if tag is not None} - {self.tag}
            self._kill_all(stopped)
        for group in {seen.pgid for seen in members.values()}:
            # the whole group at once: one by one, something that forks could stay ahead of us
            send_signal(-group, signal.SIGKILL)
        for pid in members:
            send_signal(pid, signal.SIGKILL)
        return now + _FIRST_POLL_S

    def _is_unkillable(self, now: float, members: dict[int, ProcessInfo]) -> bool:
        """Whether what was killed will not end. While some of it does, the rest will too, and what waits for a
        processor when it gets one."""
        assert self.sigkill_at is not None
        assert self.kill_started_at is not None
        fewer, self.survivors = len(members) < self.survivors, len(members)
        if fewer or (LINUX and any(seen.state == "R" and seen.is_killed for seen in members.values())):
            self.kill_started_at = now
        return now > self.kill_started_at + UNKILLABLE_AFTER_S or now > self.sigkill_at + _MAX_STARVED_KILL_S

    def report_running(self) -> None:
        """A task goes on, whatever has become of its shell."""
        if not self.reported_running:
            self.reported_running = True
            try:
                self.control.send(RUNNING)
            except OSError:
                pass  # nobody waits to hear it

    def close_input(self) -> None:
        """Nothing more comes on its standard input."""
        if self.stdin_fd is not None:
            os.close(self.stdin_fd)
            self.stdin_fd = None

    def note_end(self, pid: int, status: int) -> None:
        """One of what the shell had left running is dead."""
        if self.task_leader != 0:
            self.leader_status = status
        if self.task_leader == pid:
            self.task_leader = 0

    # what the host hears

    def read_engine_note(self) -> bool:
        """Of what its shell has noted: the limit that it was over, where that is counted elsewhere. Whether it has run
        out of memory there."""
        lines = [] if self.engine_note is None else os.pread(self.engine_note, _MAX_NOTE_BYTES, 0).splitlines()
        limit = [line for line in lines if line.startswith(LIMIT)]
        if limit and self.reason == EXIT:
            self.reason = limit[0]
        return b"oom" in lines and self.was_killed

    @property
    def was_killed(self) -> bool:
        """Its shell, or what that waited for last, by a KILL that is none of ours."""
        status = self.status if self.task_leader is None else self.leader_status
        return self.reason == EXIT and status in (signal.SIGKILL, (128 + signal.SIGKILL) << 8)

    @property
    def was_signalled(self) -> bool:
        """Its shell, by a signal that is none of ours."""
        return self.reason == EXIT and self.status is not None and os.WIFSIGNALED(self.status)

    def report(self, members: dict[int, ProcessInfo], *, out_of_memory: bool) -> None:
        """Say how it ended. The host may be gone: then nobody needs to know."""
        self.reported_end = True
        status = -1 if self.status is None else self.status
        took = (self.shell_exited_at if self.status is not None else time.monotonic()) - self.started_at
        try:
            message = encode_ended(status, self.reason, took, asleep=self.all_sleeping, out_of_memory=out_of_memory)
            self.control.send(message + self.leftovers + _encode_processes(b"running", members))
        except OSError:
            pass


def encode_ended(
    status: int, reason: bytes, took: float, *, asleep: bool = False, out_of_memory: bool = False
) -> bytes:
    """The report, but for its rows. The status of a shell whose end was not seen, or that there never was, is -1."""
    return b"%b\0%d\0%b\0%r\0%d%d" % (ENDED, status, reason, took, asleep, out_of_memory)


def _encode_processes(state: bytes, members: dict[int, ProcessInfo]) -> bytes:
    """For the report."""
    rows = [
        b"\0%b %d %d %b" % (state, seen.pid, seen.pgid, procfs.command_line(seen).encode("utf-8", "replace"))
        for seen in members.values()
    ]
    return b"".join(rows)
