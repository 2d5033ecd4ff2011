"""Input and output types, under the names of the proposal."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NotRequired, TypedDict


class BashOutput(TypedDict):
    """The result of a command."""

    success: bool
    stdout: str
    stderr: str
    exit_code: int
    duration_ms: int
    truncated: NotRequired[bool]
    task_id: NotRequired[str]
    output_file: NotRequired[str]


class Safety(TypedDict):
    """Whether a command may run, and the reason if not."""

    safe: bool
    reason: str


class StreamEvent(TypedDict):
    """An event: a piece of stdout or stderr in `data`; at the end the exit status in `code`."""

    type: Literal["stdout", "stderr", "exit"]
    data: NotRequired[str]
    code: NotRequired[int]


class TaskInfo(TypedDict):
    """A background command."""

    id: str
    type: Literal["bash"]
    command: str
    description: str
    pid: int | None
    outputFile: str
    startedAt: datetime
    status: Literal["running", "completed", "failed"]
    """`failed`: any outcome but exit status 0."""
    exitCode: int | None
    """None while it runs; 1 if it ended without an exit status."""
