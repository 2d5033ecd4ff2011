"""TaskWait: waits until tasks exit, print a text, listen on a port, or stop printing. `Tasks.wait` as a tool.

The text is literal: a regular expression written by a model could keep the server busy for ever.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any

from mcp_types import CallToolResult

from nacre.adapters.mcp.tools.output_schemas import TASK_FIELDS
from nacre.adapters.mcp.tools.results import to_result
from nacre.errors import InvalidRequest
from nacre.output.notes import nacre_note
from nacre.redact.redactor import Redactor
from nacre.tasks import Exit, Match, Port, Quiet, Task, Tasks, WaitResult
from nacre.tasks.wait import WaitCondition
from nacre.toolcall.arguments import ArgumentReader, bad_argument

NAME = "TaskWait"


def description(budget: float) -> str:
    """Return the description of the tool. `budget` is the longest wait in seconds."""
    return (
        "Wait until background tasks have ended, or meet one condition: a line that contains `text`, a listener on "
        "`port`, or no output for `quiet_seconds`. A task that ends is no longer waited for. Returns after at most "
        f"`timeout` seconds ({budget:g}); call it again to keep waiting. TaskOutput reads their output."
    )


def schema(budget: float) -> dict[str, Any]:
    """Return the input schema of the tool."""
    return {
        "type": "object",
        "properties": {
            "task_ids": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "description": "Ids of tasks, such as bash-3f9c2a17.",
            },
            "any": {"type": "boolean", "default": False, "description": "Return when one task meets it, not all."},
            "text": {"type": "string", "minLength": 1, "description": "Part of a line, exactly as it is printed."},
            "port": {"type": "integer", "minimum": 1, "maximum": 65535, "description": "A TCP port of this machine."},
            "quiet_seconds": {"type": "number", "minimum": 0},
            "timeout": {
                "type": "number",
                "default": budget,
                "minimum": 0,
                "description": "Maximum time to wait, in seconds.",
            },
        },
        "required": ["task_ids"],
        "additionalProperties": False,
    }


async def wait(arguments: Mapping[str, Any], tasks: Tasks, budget: float, redactor: Redactor) -> CallToolResult:
    """Wait, for at most `budget` seconds, and return the state of the tasks. Raises InvalidRequest for invalid
    arguments or unknown tasks."""
    given = ArgumentReader(arguments)
    ids = _ids(given)
    any_of = given.boolean("any", default=False)
    until = _until(given)
    timeout = given.number("timeout", budget)
    given.reject_unknown()
    await asyncio.to_thread(lambda: [tasks.get(id) for id in ids])  # report unknown tasks before waiting
    waited = await tasks.wait(ids, any=any_of, until=until, timeout=min(timeout, budget))
    text = redactor.mask("\n".join(_line(task, waited) for task in waited.tasks))
    if waited.timed_out:
        text += "\n" + nacre_note("timed out; call TaskWait again to keep waiting")
    data = {
        "met": list(waited.met),
        "ended": list(waited.ended),
        "timed_out": waited.timed_out,
        "match": dict(waited.match),
        "tasks": [fields(task) for task in waited.tasks],
    }
    return to_result(text, {"text": text, **redactor.mask_all(data)})


def fields(task: Task) -> dict[str, Any]:
    """Return the fields of a task that are returned to the client."""
    whole = task.to_dict()
    return {name: whole[name] for name in TASK_FIELDS}


def _ids(given: ArgumentReader) -> list[str]:
    ids = given.pop("task_ids", aliases=("task_id",))
    ids = [ids] if isinstance(ids, str) else ids
    if not isinstance(ids, list) or not ids or not all(isinstance(id, str) for id in ids):
        raise bad_argument("task_ids", ids, 'Give a list of ids, such as ["bash-3f9c2a17"]. TaskList lists the tasks.')
    return [id.strip() for id in ids]


def _until(given: ArgumentReader) -> WaitCondition:
    text, port, quiet = given.pop("text"), given.integer("port"), given.pop("quiet_seconds")
    conditions: list[WaitCondition] = []
    if text is not None and (not isinstance(text, str) or not text):
        raise bad_argument("text", text, "Give a part of the line to wait for.")
    conditions += [] if text is None else [Match(re.escape(text))]
    conditions += [] if port is None else [Port(port)]
    conditions += [] if quiet is None else [Quiet(quiet)]
    if len(conditions) > 1:
        raise InvalidRequest(
            "bad_until",
            "Only one of `text`, `port` and `quiet_seconds` is allowed.",
            field="until",
            hint="Leave out the others.",
        )
    return conditions[0] if conditions else Exit()


def _line(task: Task, waited: WaitResult) -> str:
    if task.id in waited.match:
        return nacre_note(f"{task.id} has printed: {waited.match[task.id]}")
    if task.id in waited.met and task.alive:
        return nacre_note(f"{task.id}: condition met; still running")
    return nacre_note(f"{task.id}: {task.summary}")
