"""A run in the keeper: its start message, its shell, its pipes, its end, and its task, if it is one.

Its processes are in `process_set`, how it is killed is in `kill_ladder`.
"""

from __future__ import annotations

import os
import signal
import time

from nacre.keeper.protocol.channel import Channel, close_all
from nacre.keeper.protocol.ending import EXITED, EndKind, EndReason
from nacre.keeper.protocol.messages import MalformedMessage, StartMessage
from nacre.keeper.protocol.procfs import ProcessInfo
from nacre.keeper.protocol.replies import EndedReply, RunningReply
from nacre.keeper.server.kill_ladder import KillLadder
from nacre.keeper.server.process_set import ProcessSet, process_rows
from nacre.keeper.server.usage import Meter
from nacre.keeper.spawn.shell import Shell

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from collections.abc import Callable

    from nacre.keeper.server.task.record import TaskRecord

_MAX_NOTE_BYTES = 1 << 16


class WaitStatuses:
    """How the processes of a run ended that decide about its outcome."""

    __slots__ = ("_leader", "leader_pid", "shell")

    def __init__(self) -> None:
        self.shell: int | None = None
        """Wait status of the shell, once it is dead."""
        self.leader_pid: int | None = None
        """For a task made of leftovers: PID of the process that it is named after; 0 once that is dead."""
        self._leader: int | None = None
        """Wait status of that process; until that is known, of the last leftover to die."""

    def note_leftover(self, pid: int, status: int) -> None:
        """Note the wait status of a dead leftover."""
        if self.leader_pid != 0:
            self._leader = status
        if self.leader_pid == pid:
            self.leader_pid = 0

    @property
    def decisive(self) -> int | None:
        """Wait status that decides about the outcome; None if it was not seen."""
        return self.shell if self.leader_pid is None else self._leader


class RunningTask:
    """A run as a task."""

    __slots__ = ("notes", "over_at", "record", "reported_running", "stdin_fd")

    def __init__(self, record: TaskRecord, stdin_fd: int | None = None) -> None:
        self.record = record
        """Its files."""
        self.stdin_fd = stdin_fd
        """Write end of its stdin, while that is open."""
        self.reported_running = False
        """The host was told that it runs."""
        self.over_at: float | None = None
        """Time at which its last process was gone."""
        self.notes: list[str] = []
        """Notes on restored paths."""

    def close_input(self) -> None:
        """Close stdin: the task reads EOF."""
        if self.stdin_fd is not None:
            os.close(self.stdin_fd)
            self.stdin_fd = None


class Run:
    """One command, from the start of its shell to the report of its end."""

    __slots__ = (
        "control",
        "engine_note",
        "ladder",
        "meter",
        "oom_kills",
        "pipes",
        "private_tmpdir",
        "processes",
        "reason",
        "reported_end",
        "start",
        "started_at",
        "statuses",
        "task",
    )

    def __init__(self, start: StartMessage, shell: Shell, control: Channel, adopt: Callable[[], bool]) -> None:
        """`adopt`: see `ProcessSet`."""
        self.start = start
        self.control = control
        self.pipes = shell.pipes
        """Read ends of its stdout and stderr."""
        self.private_tmpdir = shell.private_tmpdir
        self.processes = ProcessSet(shell.pid, start.tag, self.pipes, adopt)
        self.ladder = KillLadder(start, self.processes)
        self.started_at = time.monotonic()
        self.reason = EXITED
        self.statuses = WaitStatuses()
        self.reported_end = False
        """The end was reported to the host."""
        self.meter = Meter()
        self.oom_kills = 0
        """Machine-wide count of OOM kills when the run began."""
        self.engine_note: int | None = None
        """For a run with a kill script: file in which its shell notes what happened in the engine."""
        self.task: RunningTask | None = None

    @property
    def tag(self) -> int:
        return self.processes.tag

    @property
    def pid(self) -> int:
        """PID of its shell."""
        return self.processes.pid

    @property
    def is_over(self) -> bool:
        """Whether the run is a task that has ended; its status may not be written yet."""
        return self.task is not None and self.task.over_at is not None

    def note_exit(self, pid: int, status: int, cpu_seconds: float) -> None:
        """Note that the keeper has reaped its shell or one of its orphans."""
        if self.statuses.shell is None and pid == self.pid:
            self.statuses.shell = status
            self.processes.shell_exited_at = time.monotonic()
        else:
            self.processes.adopted.discard(pid)
            self.statuses.note_leftover(pid, status)
        self.meter.reap(pid, cpu_seconds)

    def start_termination(self, reason: EndReason) -> None:
        """Begin to kill the run."""
        self.reason = reason
        self.ladder.start(over_limit=reason.kind is EndKind.LIMIT)

    def close(self) -> None:
        """Close its channel, its pipes and its files. The task's record is closed with its status."""
        self.control.close()
        close_all(self.pipes)
        if self.task is not None:
            self.task.close_input()
        if self.engine_note is not None:
            os.close(self.engine_note)

    # its end

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
        return self.reason.kind is EndKind.EXIT and self.statuses.decisive in (
            signal.SIGKILL,
            (128 + signal.SIGKILL) << 8,
        )

    @property
    def was_signalled(self) -> bool:
        """Whether its shell was killed by a signal that nacre did not send."""
        status = self.statuses.shell
        return self.reason.kind is EndKind.EXIT and status is not None and os.WIFSIGNALED(status)

    # reports to the host

    def report_running(self) -> None:
        """Report to the host that the task runs, even if its shell has exited."""
        assert self.task is not None
        if not self.task.reported_running:
            self.task.reported_running = True
            self.control.try_send(RunningReply().message())

    def report_end(self, members: dict[int, ProcessInfo], *, out_of_memory: bool) -> None:
        """Report the end to the host, if that still exists."""
        self.reported_end = True
        status = -1 if self.statuses.shell is None else self.statuses.shell
        took = (self.processes.shell_exited_at or time.monotonic()) - self.started_at
        reply = EndedReply(
            status,
            self.reason,
            took,
            all_sleeping=self.ladder.all_sleeping,
            out_of_memory=out_of_memory,
            killed_leftovers=self.ladder.killed_leftovers,
            running=process_rows(members),
        )
        self.control.try_send(reply.message())
