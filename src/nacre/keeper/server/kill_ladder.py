"""The kill ladder of a run: SIGTERM to all processes, `grace` seconds, SIGKILL, then checks until none is left or
`UNKILLABLE_AFTER_S` seconds have passed; survivors are reported.

Nothing here blocks: the event loop calls `escalate` when it is due.
"""

from __future__ import annotations

import signal
import time

from nacre.base.system import LINUX
from nacre.keeper.protocol import procfs
from nacre.keeper.protocol.ending import KILL_SCRIPT_TIMEOUT_S, UNKILLABLE_AFTER_S
from nacre.keeper.protocol.signals import send_signal, stop_processes, stop_tree
from nacre.keeper.server.process_set import ProcessSet, process_rows
from nacre.keeper.spawn.shell import spawn_kill_script

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from nacre.keeper.protocol.messages import StartMessage
    from nacre.keeper.protocol.procfs import ProcessInfo
    from nacre.keeper.protocol.replies import ProcessRow

_FREEZE_INTERVAL_S = 0.0005
_FREEZE_ROUNDS = 5 if LINUX else 0
"""Each round lists all processes. With `ps` instead of /proc, twenty runs that end at once would delay each other."""
_MAX_KILL_S = 10.0
"""Seconds after which a run that keeps creating processes is given up."""
_MAX_STARVED_KILL_S = 300.0
"""Seconds after which a run is given up whose killed processes wait for CPU time to exit."""
_STOP_FIRST_ABOVE_PROCESSES = 200
"""Runs with more processes than this are stopped before anything is read about each process."""
_RESEND_INTERVAL_S = 1.0
_FIRST_POLL_S = 0.01
_POLL_INTERVAL_S = 0.05


class KillScript:
    """The script of a run that kills what signals from here do not reach."""

    __slots__ = ("_start", "called_at", "pids")

    def __init__(self, start: StartMessage) -> None:
        self._start = start
        self.called_at = 0.0
        """Time of the last call, other than to hasten."""
        self.pids: set[int] = set()

    def call(self, number: int, grace: float) -> bool:
        """Start the script. Returns False if no process is available for it."""
        try:
            self.pids.add(spawn_kill_script(self._start, number, 0.0 if number == signal.SIGKILL else grace))
        except OSError:
            return False
        return True


class KillLadder:
    """How one run is killed, and how far that has got."""

    __slots__ = (
        "_kill_started_at",
        "_killed_pids",
        "_processes",
        "_survivors",
        "_unexeced_forks",
        "all_sleeping",
        "grace",
        "killed_leftovers",
        "script",
        "sigkill_at",
        "signal",
    )

    def __init__(self, start: StartMessage, processes: ProcessSet) -> None:
        self._processes = processes
        self.script = KillScript(start) if start.kill_script else None
        self.signal = int(signal.SIGTERM)
        """First signal."""
        self.grace = start.grace
        """Seconds between the first signal and SIGKILL."""
        self.sigkill_at: float | None = None
        """Time of SIGKILL; set while the run is being killed."""
        self.all_sleeping = False
        """Whether all processes slept when it began."""
        self.killed_leftovers: list[ProcessRow] = []
        """Leftovers that were killed."""
        self._unexeced_forks: set[int] = set()
        """Forks of the shell that were sent SIGTERM before they execed."""
        self._killed_pids: set[int] = set()
        """Processes that were sent SIGKILL."""
        self._kill_started_at: float | None = None
        self._survivors = 0
        """Number of processes alive at the last check since SIGKILL."""

    @property
    def has_started(self) -> bool:
        """Whether the run is being killed, or was."""
        return self.sigkill_at is not None

    def start(self, *, over_limit: bool) -> None:
        """Begin to kill the run. Only once: processes started from now on are clean-up, which a second SIGTERM would
        kill.

        All processes are stopped first, until no new one turns up: a child that is being forked would miss the SIGTERM,
        and its shell would wait for it instead of running its trap.
        """
        if over_limit:
            self.signal = signal.SIGKILL  # a run over its limit gets no grace
        if self.script is not None and self._start_by_script(self.script):
            return
        if self.signal == signal.SIGKILL:
            self._set_sigkill_at(time.monotonic())
            return
        members = self._processes.members(_STOP_FIRST_ABOVE_PROCESSES)
        if LINUX and len(members) > _STOP_FIRST_ABOVE_PROCESSES:
            stop_processes(members)
            self._stop_all()
            members = self._processes.members()  # stopped: nothing tells which were sleeping
        else:
            self.all_sleeping = all(seen.is_sleeping for seen in members.values())
        if not self._processes.shell_is_alive:
            self.killed_leftovers = process_rows(members)
        members = self._freeze(members)
        self._unexeced_forks = {
            pid for pid, seen in members.items() if pid != self._processes.pid and procfs.has_not_execed(seen)
        }
        for number in (self.signal, signal.SIGCONT):
            for pid in members:
                send_signal(pid, number)
        self._set_sigkill_at(time.monotonic() + self.grace)

    def _start_by_script(self, script: KillScript) -> bool:
        """Begin with the kill script. Returns False if no process is available for it."""
        if not self._processes.shell_is_alive:
            self.killed_leftovers = process_rows(self._processes.members())
        if not script.call(self.signal, self.grace):
            return False
        script.called_at = time.monotonic()
        self._set_sigkill_at(script.called_at + self.grace + KILL_SCRIPT_TIMEOUT_S)
        return True

    def _set_sigkill_at(self, when: float) -> None:
        self.sigkill_at = when
        self._processes.empty_pipes_suffice = False  # a process that is being killed may have closed its pipes

    def _freeze(self, members: dict[int, ProcessInfo]) -> dict[int, ProcessInfo]:
        """Stop all processes, until no new one turns up; return them."""
        stopped: set[int] = set()
        for _ in range(_FREEZE_ROUNDS):
            if not members.keys() - stopped:
                break
            for pid in members.keys() - stopped:
                send_signal(pid, signal.SIGSTOP)
            stopped |= members.keys()
            time.sleep(_FREEZE_INTERVAL_S)
            self._processes.adopt()
            members = self._processes.members()
        return members

    def hasten(self, number: int, grace: float) -> None:
        """Shorten the remaining time of a run that is being killed."""
        assert self.sigkill_at is not None
        if self.script is None:
            self.sigkill_at = min(self.sigkill_at, time.monotonic() + (0 if number == signal.SIGKILL else grace))
        elif number == signal.SIGKILL:
            self.signal = number
            self.script.call(number, grace)

    def escalate(self, now: float) -> float | None:
        """Take the next step of killing. Returns when to check again; None when nothing is left to do."""
        assert self.sigkill_at is not None
        stopped = self._stop_all() if LINUX and now >= self.sigkill_at else set[int]()
        members = self._processes.remaining()
        if not members and not self._processes.shell_is_alive:
            return None
        if now < self.sigkill_at:
            self._resend_signal(members)
            self._resend_script(now, members)
            return min(now + _POLL_INTERVAL_S, self.sigkill_at)
        if self._kill_started_at is None:
            self._kill_started_at = now  # the first SIGKILL, however late: the machine may have slept
        elif self._is_unkillable(now, members):
            return None
        if LINUX:
            tags = {tag for tag in map(procfs.tag_of, members) if tag is not None}
            self._processes.nested_tags |= tags - {self._processes.tag}
            self._kill_all(stopped)
        for group in {seen.pgid for seen in members.values()}:
            # the whole group at once: a process that forks could outrun signals sent one by one
            send_signal(-group, signal.SIGKILL)
        for pid in members:
            send_signal(pid, signal.SIGKILL)
        return now + _FIRST_POLL_S

    def _stop_all(self) -> set[int]:
        """Stop all its processes, until no new one turns up: a single listing misses what is being forked, and a fork
        bomb escapes all of them."""

        def find_roots() -> set[int]:
            self._processes.adopt()
            return self._processes.roots

        if self._processes.shell_is_alive:
            send_signal(-self._processes.pid, signal.SIGSTOP)
        return stop_tree(find_roots)

    def _kill_all(self, stopped: set[int]) -> None:
        """Kill processes that are all stopped."""
        for pid in stopped:
            send_signal(pid, signal.SIGKILL)
        now = time.monotonic()
        if stopped - self._killed_pids and now < (self.sigkill_at or now) + _MAX_KILL_S:
            self._kill_started_at = now  # the tree was still growing
        self._killed_pids |= stopped

    def _resend_signal(self, members: dict[int, ProcessInfo]) -> None:
        """Resend the signal to forks that have execed since: bash may have taken the SIGTERM as its own, and dropped
        it."""
        for pid in [pid for pid in self._unexeced_forks if pid in members and not procfs.has_not_execed(members[pid])]:
            self._unexeced_forks.discard(pid)
            send_signal(pid, self.signal)

    def _resend_script(self, now: float, members: dict[int, ProcessInfo]) -> None:
        """Repeat the kill script: the first one may have run before there was anything to kill."""
        script = self.script
        if (
            script is not None
            and now > script.called_at + _RESEND_INTERVAL_S + self.grace
            and not script.pids & members.keys()
        ):
            script.called_at = now
            self.signal = signal.SIGKILL
            script.call(self.signal, self.grace)

    def _is_unkillable(self, now: float, members: dict[int, ProcessInfo]) -> bool:
        """Return whether the survivors will not exit. As long as some of them do, the rest may follow, and those that
        wait for CPU time when they get it."""
        assert self.sigkill_at is not None
        assert self._kill_started_at is not None
        fewer, self._survivors = len(members) < self._survivors, len(members)
        if fewer or (LINUX and any(seen.state == "R" and seen.is_killed for seen in members.values())):
            self._kill_started_at = now
        return now > self._kill_started_at + UNKILLABLE_AFTER_S or now > self.sigkill_at + _MAX_STARVED_KILL_S
