"""What goes in and comes out, under the proposal's names."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NotRequired, TypedDict


class BashOutput(TypedDict):
    """What a command gives back."""

    success: bool
    stdout: str
    stderr: str
    exit_code: int
    duration_ms: int
    truncated: NotRequired[bool]
    task_id: NotRequired[str]
    output_file: NotRequired[str]


class Safety(TypedDict):
    safe: bool
    reason: str


class StreamEvent(TypedDict):
    """`data` of stdout and stderr, as it comes; at the end the `code`."""

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
    """`failed`: it ended in any other way than with exit code 0."""
    exitCode: int | None
    """None while it runs; 1 where it ended without one."""
