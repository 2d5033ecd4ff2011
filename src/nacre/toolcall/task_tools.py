"""Background tasks as tools for a model: definitions for the API, and calls answered with text.

Every call is answered with text: the answer, or an error with a stable code and what to do next. No reply is longer
than `MAX_REPLY_CHARS` characters.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from typing import Any

from nacre.ansi.decode import clean
from nacre.base.frozen import frozen
from nacre.base.threads import run_in_thread
from nacre.base.units import describe_duration
from nacre.environment import host_environment
from nacre.errors import InvalidRequest, NacreError, NoSuchTask
from nacre.output.error_lines import ErrorScanner
from nacre.output.markers import OmittedMiddle, quote_path
from nacre.output.notes import nacre_note
from nacre.output.shape import ShapeOptions, shape
from nacre.redact.mask import mask
from nacre.redact.redactor import Redactor, task_secrets
from nacre.result import Captured, Exited
from nacre.tasks.store.log_reader import Output
from nacre.tasks.store.task import Task
from nacre.tasks.tasks import Tasks
from nacre.toolcall.arguments import ArgumentReader, bad_argument

MAX_REPLY_CHARS = 30_000
_OPTIONS = ShapeOptions(chars=MAX_REPLY_CHARS - 3_000)
"""Limits of the output; the rest is for the notes about it."""
_WINDOW_BYTES = 256 * 1024
"""Bytes read from the beginning, and from the end, of the output."""
_DEFAULT_TIMEOUT_S, _MAX_TIMEOUT_S = 30.0, 600.0
MAX_LISTED_TASKS = 100
"""Maximum number of tasks in a list; the latest ones are shown."""
_SCAN_TIMEOUT_S = 0.3
"""Time limit for searching the part between beginning and end, in seconds."""
_MAX_SHOWN_GAPS = 20
"""Maximum number of gaps that are shown; there are hardly ever any."""
_MIN_READ_BYTES = 4
"""Minimum number of bytes worth another read."""
_MAX_COMMAND_CHARS = 120
_NOTES, _NOTE_CHARACTERS = 10, 1000
"""Maximum number of notes of a task, and maximum length of one in characters."""
_IDS = ("task_id", "shell_id", "bash_id", "id")


def definitions() -> list[dict[str, Any]]:
    """Return name, description and input schema of each tool, as model APIs take them."""
    return [
        {
            "name": "TaskOutput",
            "description": (
                "Read the output of a background task, and whether it is still running. By default this waits until "
                "the task has ended, for at most `timeout` seconds: one call with a long timeout is better than many "
                "short ones. Pass `block: false` to read at once from something that keeps running, such as a "
                "server. The answer contains a cursor; pass it as `since` to get only new output."
            ),
            "input_schema": _schema(
                {
                    "task_id": {"type": "string", "description": "The task's id, such as bash-3f9c2a17."},
                    "block": {"type": "boolean", "default": True, "description": "Wait until the task has ended."},
                    "timeout": {
                        "type": "number",
                        "default": _DEFAULT_TIMEOUT_S,
                        "minimum": 0,
                        "maximum": _MAX_TIMEOUT_S,
                        "description": "Maximum time to wait, in seconds.",
                    },
                    "since": {
                        "type": "integer",
                        "description": "Read from this byte on: the cursor of the last answer, or -N for the last N.",
                    },
                    "lines": {"type": "integer", "minimum": 0, "description": "Only the last N lines."},
                },
                "task_id",
            ),
        },
        {
            "name": "KillShell",
            "description": (
                "Kill a background task and everything it started. Use it when the task is no longer needed, or "
                "hangs. Its output can still be read afterwards."
            ),
            "input_schema": _schema(
                {
                    "shell_id": {"type": "string", "description": "The task's id, such as bash-3f9c2a17."},
                    "signal": {
                        "type": "string",
                        "default": "TERM",
                        "description": "The first signal; KILL follows after 5 seconds.",
                    },
                },
                "shell_id",
            ),
        },
        {
            "name": "TaskList",
            "description": (
                "List the running background tasks, with their ids. Use it when you do not know an id; to wait for a "
                "task, use TaskOutput instead of listing again and again."
            ),
            "input_schema": _schema(
                {"all": {"type": "boolean", "default": False, "description": "Also list tasks that have ended."}}
            ),
        },
    ]


def _schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


@frozen
class ToolReply:
    """The answer to a call."""

    text: str
    error: str = ""
    """A stable code if the call itself failed; else empty."""


async def call(name: str, arguments: Mapping[str, Any], tasks: Tasks, *, secrets: Iterable[str] = ()) -> str:
    """Return the text for the model.

    Masked are the `secrets`, the explicit secrets of tasks that this process started, and the variables that tasks do
    not inherit from it because they look like secrets.
    """
    return (await reply(name, arguments, tasks, secrets=secrets)).text


async def reply(name: str, arguments: Mapping[str, Any], tasks: Tasks, *, secrets: Iterable[str] = ()) -> ToolReply:
    """Return the text and an error code, for callers that need to know whether the call failed."""
    redactor, failed = Redactor((*secrets, *task_secrets()), host_environment()), ""
    try:
        given = ArgumentReader(arguments)
        match name:
            case "TaskOutput":
                text = await _task_output(given, tasks, redactor)
            case "KillShell":
                text = await _kill_shell(given, tasks, redactor)
            case "TaskList":
                text = await run_in_thread(_task_list, given, tasks, redactor)
            case _:
                hint = "Use TaskOutput, KillShell or TaskList."
                failed = "no_such_tool"
                text = _error(failed, f"Unknown tool: {name!r:.60}.", hint)
    except NoSuchTask as error:
        failed, text = (
            error.code,
            _error(error.code, error.message, await run_in_thread(_running_tasks_hint, error, tasks, redactor)),
        )
    except InvalidRequest as error:
        failed, text = error.code, _error(error.code, error.message, error.hint)
    except NacreError as error:
        failed, text = "failed", _error("failed", str(error), "")
    except OSError as error:
        failed, text = "system", _error("system", f"{error.strerror or error}.", "Try again later.")
    return ToolReply(clean(redactor.mask(text))[:MAX_REPLY_CHARS], failed)


async def _task_output(given: ArgumentReader, tasks: Tasks, redactor: Redactor) -> str:
    id = id_in(given)
    block = given.boolean("block", default=True)
    timeout = _seconds(given, "timeout", _DEFAULT_TIMEOUT_S)
    since, lines = given.integer("since"), given.integer("lines")
    given.reject_unknown()
    # Report errors before waiting. In a thread: a call to a keeper that is stopped takes a second to time out.
    await run_in_thread(tasks.output, id, since=since or 0, lines=lines, limit=0)
    if block and timeout > 0:
        await tasks.wait(id, timeout=min(timeout, _MAX_TIMEOUT_S))
    text, last = await run_in_thread(_excerpt, tasks, id, since or 0, lines, redactor.values())
    parts = [_status(last.task, redactor), *text]
    if text:
        parts.append(nacre_note(f"cursor {last.cursor}: pass since={last.cursor} for later output"))
    else:
        parts.append(nacre_note(f"no output after cursor {last.cursor}" if last.cursor else "no output"))
    return "\n".join(parts)


async def _kill_shell(given: ArgumentReader, tasks: Tasks, redactor: Redactor) -> str:
    id = id_in(given)
    signal = given.pop("signal", "TERM")
    given.reject_unknown()
    before = await run_in_thread(tasks.get, id)
    if not isinstance(signal, str | int):
        raise bad_argument("signal", signal, "Use a name such as TERM, INT or KILL.")
    task = await tasks.kill(id, signal=signal)
    if before.state == "ended":
        return f"{_status(task, redactor)}\n{nacre_note('it had already ended; nothing was done')}"
    if task.alive:
        return f"{_status(task, redactor)}\n{nacre_note('it could not be killed; try signal KILL')}"
    return _status(task, redactor)


def _task_list(given: ArgumentReader, tasks: Tasks, redactor: Redactor) -> str:
    everything = given.boolean("all", default=False)
    given.reject_unknown()
    found = tasks.list(all=everything)
    if not found:
        return "There are no tasks." if everything else "No task is running. Pass all=true for those that have ended."
    rows = [f"{_status(task, redactor, brief=True)}: {_name(task, redactor)}" for task in found[-MAX_LISTED_TASKS:]]
    if len(found) > MAX_LISTED_TASKS:
        rows.insert(0, nacre_note(f"{len(found) - MAX_LISTED_TASKS} older tasks left out"))
    return "\n".join(rows)


def _excerpt(
    tasks: Tasks, id: str, since: int, lines: int | None, secrets: tuple[str, ...]
) -> tuple[list[str], Output]:
    """Return the shown parts of the output, each on lines of its own, with exact notes on what is missing."""
    read = _gather(tasks, id, since, lines, _WINDOW_BYTES)
    if read[-1].more:
        after = read[-1].cursor
        far = read[-1].task.bytes - _WINDOW_BYTES > after
        read += _gather(tasks, id, -_WINDOW_BYTES if far else after, None, _WINDOW_BYTES)
    captured, gone = _to_captured(read)
    notes = [f"{read[0].skipped:,} bytes left out before this"] if read[0].skipped else []
    notes += [f"{read[0].dropped:,} bytes before this were not kept"] if read[0].dropped else []
    middle = None if gone else _middle(tasks, id, read[0].start + len(captured.head), captured.dropped_bytes)
    shaped = shape(captured, _OPTIONS, secrets=secrets, middle=middle)
    # the output read here may begin and end in the middle of a secret
    text = mask(shaped.text, secrets, starts_cut=read[0].start > 0, ends_cut=True)
    parts = [*map(nacre_note, notes), text]
    if shaped.omitted_bytes > gone and not shaped.binary:
        parts.append(nacre_note(f"since={read[0].start + shaped.omitted_from} reads the part left out"))
    if shaped.similar or shaped.erased:
        parts.append(nacre_note(f"the full unmodified output is in {quote_path(read[-1].task.output_file)}"))
    if gone:
        parts.append(nacre_note(f"{gone:,} of the bytes left out were not kept"))
    return [part for part in parts if part], read[-1]


def _middle(tasks: Tasks, id: str, place: int, count: int) -> OmittedMiddle | None:
    """Return facts about the part that is not shown. None: it cannot be read in time."""
    scanner, end, until = ErrorScanner(_OPTIONS.errors), place + count, time.monotonic() + _SCAN_TIMEOUT_S
    while place < end:
        output = tasks.output(id, since=place, limit=min(_WINDOW_BYTES, end - place))
        if output.start != place or not output.data or time.monotonic() > until:
            return None
        scanner.feed(output.data)
        place += len(output.data)
    found = scanner.error_lines()
    return OmittedMiddle(scanner.lines, found, scanner.total) if count else None


def _gather(tasks: Tasks, id: str, since: int, lines: int | None, room: int) -> list[Output]:
    """Return the available output up to `room` bytes; in several parts if some of it is missing in between."""
    read = [tasks.output(id, since=since, lines=lines, limit=room)]
    while read[-1].more and len(read) < _MAX_SHOWN_GAPS and (room := room - len(read[-1].data)) > _MIN_READ_BYTES:
        read.append(tasks.output(id, since=read[-1].cursor, limit=room))
    return read


def _to_captured(read: list[Output]) -> tuple[Captured, int]:
    """Return the output before the first gap and after the last one, and the number of bytes in between that are
    lost."""
    gaps = [n for n in range(1, len(read)) if read[n].start > read[n - 1].start + len(read[n - 1].data)]
    first, last = (gaps[0], gaps[-1]) if gaps else (len(read), len(read))
    head = b"".join([output.data for output in read[:first]])
    tail = b"".join([output.data for output in read[last:]])
    seen = read[-1].start + len(read[-1].data) - read[0].start
    captured = Captured(head=head, tail=tail, total_bytes=seen, dropped_bytes=seen - len(head) - len(tail))
    return captured, sum(read[n].dropped for n in gaps)


def _status(task: Task, redactor: Redactor, *, brief: bool = False) -> str:
    if task.outcome is None:
        return f"{task.id} cannot be read: {task.problem}"
    if task.alive:
        text = f"{task.id} running for {describe_duration(task.duration)}"
        if task.idle is not None:
            text += f", last output {describe_duration(task.idle)} ago" if task.bytes else ", no output yet"
    else:
        how = f"exited with {task.outcome.code}" if isinstance(task.outcome, Exited) else task.summary
        text = f"{task.id} {how}" + (f" after {describe_duration(task.duration)}" if task.state == "ended" else "")
    if brief:
        return text
    text = nacre_note(text)
    if task.out_of_memory:
        text += f"\n{nacre_note('it ran out of memory')}"
    if task.running:
        left = ", ".join(f"{process.pid} ({_short(process.command, redactor)})" for process in task.running[:5])
        text += f"\n{nacre_note(f'{len(task.running)} of its processes could not be killed: {left}')}"
    text += "".join(f"\n{nacre_note(_on_one_line(each, redactor))}" for each in task.notes[:_NOTES])
    if len(task.notes) > _NOTES:
        text += f"\n{nacre_note(f'{len(task.notes) - _NOTES} more notes are in its status.json')}"
    if task.problem:
        text += f"\n{nacre_note(_short(task.problem, redactor))}"
    return text


def _on_one_line(text: str, redactor: Redactor) -> str:
    return " ".join(redactor.mask(text).split())[:_NOTE_CHARACTERS]


def _short(text: str, redactor: Redactor) -> str:
    """Shorten text to one line. It is masked first: half a secret would not be recognised."""
    text = " ".join(redactor.mask(text).split())
    return text if len(text) <= _MAX_COMMAND_CHARS else text[: _MAX_COMMAND_CHARS - 1] + "…"


def _name(task: Task, redactor: Redactor) -> str:
    """Return the command on one line, and its description."""
    about = _short(task.description, redactor)
    name = _short(task.command, redactor) + (f" ({about})" if about else "")
    return "".join([letter if letter.isprintable() else "�" for letter in name])


def _running_tasks_hint(error: NoSuchTask, tasks: Tasks, redactor: Redactor) -> str:
    """Return a hint that lists running tasks: the model has most likely confused two ids."""
    try:
        live = tasks.list(all=False)
    except (OSError, NacreError):
        return error.hint
    if not live:
        return "No task is running. TaskList with all=true lists those that have ended."
    return "Running: " + "; ".join([f"{task.id}: {_name(task, redactor)}" for task in live[-10:]])


def _error(code: str, message: str, hint: str) -> str:
    return f"Error ({code}): {message} {hint}".rstrip()


def id_in(given: ArgumentReader) -> str:
    """Return the id of the task, from any of the argument names that models use for it."""
    id = given.pop(_IDS[0], aliases=_IDS[1:])
    if id is None:
        raise InvalidRequest(
            "missing_argument", "`task_id` is missing.", field="task_id", hint="TaskList lists the tasks."
        )
    if not isinstance(id, str):
        raise bad_argument("task_id", id, "Give an id such as bash-3f9c2a17.")
    return id.strip()


def _seconds(given: ArgumentReader, name: str, default: float) -> float:
    value = given.number(name, default)
    if not 0 <= value < math.inf:
        raise bad_argument(name, value, "Give seconds, from 0 to 600.")
    return min(value, _MAX_TIMEOUT_S)
