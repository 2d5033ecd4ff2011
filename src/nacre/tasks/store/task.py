"""Task: what could be known about a background command at one moment. A value; looking again gives another."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from nacre.base.frozen import frozen
from nacre.result import Exited, Outcome, Process, describe, outcome_data

TaskState: TypeAlias = Literal["running", "ended", "lost", "broken"]


@frozen(kw_only=True)
class Task:
    id: str
    directory: str
    state: TaskState
    """`lost`: its keeper is gone without a word. `broken`: what is there is no task of ours; `problem` says why."""
    outcome: Outcome | None
    """How it ended; `Running` while it runs, None if it is broken."""
    kind: str = ""
    """`background`; `promoted`: its call did not wait any longer; `adopted`: left running when its shell had exited."""
    command: str = ""
    description: str = ""
    cwd: str = ""
    pid: int | None = None
    pgid: int | None = None
    output_file: str = ""
    bytes: int = 0
    """It has printed so far."""
    dropped: int = 0
    """Of those, not kept."""
    created: float = 0.0
    """Seconds since the epoch, as `ended`."""
    ended: float | None = None
    duration: float = 0.0
    """Seconds so far, or in all."""
    idle: float | None = None
    """Seconds since it last printed something; None unless it runs."""
    owner_pid: int = 0
    """The program that started it."""
    conversation: str = ""
    access: str = ""
    timeout: float | None = None
    detached: bool = False
    """It goes on when the program that started it ends."""
    stdin: bool = False
    """It can be written to."""
    running: tuple[Process, ...] = ()
    """Processes of it that are still there although it is over."""
    out_of_memory: bool = False
    notes: tuple[str, ...] = ()
    """What was put back of the protected paths of its workspace when it had ended, a sentence each."""
    problem: str = ""

    @property
    def alive(self) -> bool:
        return self.state == "running"

    @property
    def exit_code(self) -> int | None:
        """The shell's own; None when it has none (yet)."""
        return self.outcome.code if isinstance(self.outcome, Exited) else None

    @property
    def summary(self) -> str:
        """How it stands, in a few words."""
        return self.problem if self.outcome is None else describe(self.outcome)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as `nacre tasks --json` prints it."""
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
