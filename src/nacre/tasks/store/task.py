"""Task: the state of a background command at one moment. An immutable value; read it again for a newer one."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from nacre.base.frozen import frozen
from nacre.outcomes import outcome_data
from nacre.result import Exited, Outcome, Process

TaskState: TypeAlias = Literal["running", "ended", "lost", "broken"]


@frozen(kw_only=True)
class Task:
    """A background task, as it was when it was read."""

    id: str
    directory: str
    state: TaskState
    """`lost`: its keeper died before it recorded how the task ended. `broken`: the directory is not a valid task;
    `problem` says why."""
    outcome: Outcome | None
    """How it ended; `Running` while it runs, None if it is broken."""
    kind: str = ""
    """How it became a task. `background`: at its start; `promoted`: its call stopped waiting; `adopted`: leftovers of a
    shell that had exited."""
    command: str = ""
    description: str = ""
    cwd: str = ""
    pid: int | None = None
    pgid: int | None = None
    output_file: str = ""
    bytes: int = 0
    """Bytes printed so far."""
    dropped: int = 0
    """Bytes of these that were not kept."""
    created: float = 0.0
    """Seconds since the epoch, like `ended`."""
    ended: float | None = None
    duration: float = 0.0
    """Seconds from its creation until now, or until it ended; if it is lost, until its last output."""
    idle: float | None = None
    """Seconds since the last output; None unless it runs."""
    owner_pid: int = 0
    """PID of the program that started it."""
    conversation: str = ""
    access: str = ""
    timeout: float | None = None
    detached: bool = False
    """It keeps running when the program that started it exits."""
    stdin: bool = False
    """Its standard input is open for `Tasks.write`."""
    running: tuple[Process, ...] = ()
    """Processes of it that are still alive although it has ended."""
    out_of_memory: bool = False
    notes: tuple[str, ...] = ()
    """Protected paths of its workspace that were restored after it ended, one sentence each."""
    problem: str = ""

    @property
    def alive(self) -> bool:
        """Whether the task runs."""
        return self.state == "running"

    @property
    def exit_code(self) -> int | None:
        """The shell's exit code; None if it has not exited, or did not exit normally."""
        return self.outcome.code if isinstance(self.outcome, Exited) else None

    @property
    def summary(self) -> str:
        """Its state in a few words."""
        return self.problem if self.outcome is None else self.outcome.summary

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as `nacre tasks --json` prints it."""
        return {
            "id": self.id,
            "directory": self.directory,
            "state": self.state,
            "outcome": None if self.outcome is None else outcome_data(self.outcome),
            "exit_code": self.exit_code,
            "summary": self.summary,
            "kind": self.kind,
            "command": self.command,
            "description": self.description,
            "cwd": self.cwd,
            "pid": self.pid,
            "pgid": self.pgid,
            "output_file": self.output_file,
            "bytes": self.bytes,
            "dropped": self.dropped,
            "created": self.created,
            "ended": self.ended,
            "duration": round(self.duration, 6),
            "idle": None if self.idle is None else round(self.idle, 6),
            "owner_pid": self.owner_pid,
            "conversation": self.conversation,
            "access": self.access,
            "timeout": self.timeout,
            "detached": self.detached,
            "stdin": self.stdin,
            "running": [process.to_dict() for process in self.running],
            "out_of_memory": self.out_of_memory,
            "notes": list(self.notes),
            "problem": self.problem,
        }
