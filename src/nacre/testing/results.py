"""`result`: build a Result in one line, as a run would have returned it."""

from __future__ import annotations

import os

from nacre.keeper.protocol.task_dir import LOG
from nacre.result import Captured, Exited, NotStarted, Outcome, Refused, Result, Running, TaskRef
from nacre.tasks.store.store import default_directory

PID = 40_001


def result(
    command: str = "true",
    *,
    stdout: str | bytes = "",
    stderr: str | bytes = "",
    exit_code: int = 0,
    outcome: Outcome | None = None,
    duration: float = 0.01,
    cwd: str = "/work",
    task: str = "",
    enforced: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> Result:
    """Return a Result.

    `outcome`: an outcome other than an exit. `task`: id of the task that keeps running. stdout comes first in the
    combined output.
    """
    out, err = encode_text(stdout), encode_text(stderr)
    outcome = outcome or Exited(exit_code)
    if isinstance(outcome, Running):
        task = task or outcome.task
    return Result(
        command=command,
        cwd=cwd,
        outcome=outcome,
        out=make_captured(out),
        err=make_captured(err),
        both=make_captured(out + err),
        duration=duration,
        pid=None if isinstance(outcome, NotStarted | Refused) else PID,
        task=make_task_ref(task, PID) if task else None,
        enforced=enforced,
        notes=notes,
    )


def encode_text(text: str | bytes) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text


def make_captured(data: bytes) -> Captured:
    return Captured(head=data, total_bytes=len(data))


def make_task_ref(task: str, pid: int, place: str = "") -> TaskRef:
    """Return a reference to a task that does not exist; `Tasks` does not find it."""
    return TaskRef(task, pid, pid, os.path.join(place or default_directory(), task, LOG))
