"""Tasks as tools for a model: definitions to hand over, and calls answered with text.

Whatever a model passes, it gets a text: the answer, or an error with a stable code and what to do next. Nothing is
longer than `LONGEST` characters.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from typing import Any

from nacre.capture.characters import incomplete
from nacre.errors import InvalidRequest, NacreError, NoSuchTask
from nacre.result import Exited, describe
from nacre.tasks.log import Output
from nacre.tasks.task import Task
from nacre.tasks.tasks import Tasks

LONGEST = 30_000
_ROOM = LONGEST - 2_000
"""For output; the rest is for what is said about it."""
_TIMEOUT, _LONGEST_TIMEOUT = 30.0, 600.0
_LISTED = 100
_PARTS = 20
"""Gaps that are shown; there are hardly ever any."""
_LEAST = 4
"""Bytes that are worth another look."""
_COMMAND = 120
_IDS = ("task_id", "shell_id", "bash_id", "id")


def definitions() -> list[dict[str, Any]]:
    """Name, description and input schema of each, as model APIs take them."""
    return [
        {
            "name": "TaskOutput",
            "description": (
                "Read what a background task has printed, and whether it still runs. By default this waits until the "
                "task has ended, for at most `timeout` seconds: one call with a long timeout is better than many "
                "short ones. Pass `block: false` for a look at something that does not end by itself, such as a "
                "server. The answer names a cursor; pass it as `since` to get only what is new."
            ),
            "input_schema": _schema(
                {
                    "task_id": {"type": "string", "description": "The task's id, such as bash-3f9c2a17."},
                    "block": {"type": "boolean", "default": True, "description": "Wait for the end of the task."},
                    "timeout": {
                        "type": "number",
                        "default": _TIMEOUT,
                        "minimum": 0,
                        "maximum": _LONGEST_TIMEOUT,
                        "description": "Seconds to wait at most.",
                    },
                    "since": {
                        "type": "integer",
                        "description": "Read from this byte on: the cursor of the last answer, or -N for the last N.",
                    },
                    "lines": {"type": "integer", "minimum": 0, "description": "Only the last so many lines."},
                },
                "task_id",
            ),
        },
        {
            "name": "KillShell",
            "description": (
                "End a background task and everything that it has started. Use it when the task is no longer needed, "
                "or hangs. Its output can still be read afterwards."
            ),
            "input_schema": _schema(
                {
                    "shell_id": {"type": "string", "description": "The task's id, such as bash-3f9c2a17."},
                    "signal": {
                        "type": "string",
                        "default": "TERM",
                        "description": "What to ask it with; KILL follows after 5 seconds.",
                    },
                },
                "shell_id",
            ),
        },
        {
            "name": "TaskList",
            "description": (
                "List the background tasks that run, with their ids. Use it when you do not know an id; to wait for a "
                "task, use TaskOutput instead of listing again and again."
            ),
            "input_schema": _schema(
                {"all": {"type": "boolean", "default": False, "description": "Those that have ended, too."}}
            ),
        },
    ]


def _schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


async def call(name: str, arguments: Mapping[str, Any], tasks: Tasks) -> str:
    """The text for the model."""
    try:
        given = _Arguments(arguments)
        match name:
            case "TaskOutput":
                text = await _task_output(given, tasks)
            case "KillShell":
                text = await _kill_shell(given, tasks)
            case "TaskList":
                text = await asyncio.to_thread(_task_list, given, tasks)
            case _:
                raise _Bad("no_such_tool", f"There is no tool {name!r:.60}.", "Use TaskOutput, KillShell or TaskList.")
    except _Bad as error:
        text = _error(error.code, error.message, error.hint)
    except NoSuchTask as error:
        text = _error(error.code, error.message, _which(error, tasks))
    except InvalidRequest as error:
        text = _error(error.code, error.message, error.hint)
    except NacreError as error:
        text = _error("failed", str(error), "")
    except OSError as error:
        text = _error("system", f"{error.strerror or error}.", "Try again later.")
    return text.encode("utf-8", "replace").decode()[:LONGEST]


async def _task_output(given: _Arguments, tasks: Tasks) -> str:
    id = given.id()
    block = given.flag("block", default=True)
    timeout = given.number("timeout", _TIMEOUT)
    since, lines = given.whole("since"), given.whole("lines")
    given.check_rest()
    # what is wrong is said before the wait; in a thread, because a keeper that was stopped takes a second not to answer
    await asyncio.to_thread(tasks.output, id, since=since or 0, lines=lines, limit=0)
    if block and timeout > 0:
        await tasks.wait(id, timeout=min(timeout, _LONGEST_TIMEOUT))
    text, last = await asyncio.to_thread(_excerpt, tasks, id, since or 0, lines)
    parts = [_status(last.task)]
    if text:
        parts += [text, f"[cursor {last.cursor}: pass since={last.cursor} for what comes after this]"]
    else:
        parts.append("[no output]" if not last.cursor else f"[no output after cursor {last.cursor}]")
    return "\n".join(parts)


async def _kill_shell(given: _Arguments, tasks: Tasks) -> str:
    id = given.id()
    signal = given.take("signal", "TERM")
    given.check_rest()
    before = tasks.get(id)
    if not isinstance(signal, str | int):
        raise _Bad("bad_signal", f"`signal` is {signal!r:.60}.", "Use a name such as TERM, INT or KILL.")
    task = await tasks.kill(id, signal=signal)
    if before.state == "ended":
        return f"{_status(task)}\n[it had ended before; nothing was done]"
    if task.alive:
        return f"{_status(task)}\n[it could not be ended; try signal KILL]"
    return _status(task)


def _task_list(given: _Arguments, tasks: Tasks) -> str:
    everything = given.flag("all", default=False)
    given.check_rest()
    found = tasks.list(all=everything)
    if not found:
        return "There are no tasks." if everything else "No task is running. Pass all=true for those that have ended."
    shown = [f"{_status(task, brief=True)}: {_name(task)}" for task in found[-_LISTED:]]
    if len(found) > _LISTED:
        shown.insert(0, f"[{len(found) - _LISTED} older ones left out]")
    return "\n".join(shown)


def _excerpt(tasks: Tasks, id: str, since: int, lines: int | None) -> tuple[str, Output]:
    """As much as there is room for: the beginning and the end, with what is missing said exactly."""
    read = _gather(tasks, id, since, lines, _ROOM)
    last = read[-1]
    if not last.more:
        return _joined([text for output in read for text in _shown(output, output.data)]), last
    parts: list[str] = []
    half, place = _ROOM // 2, read[0].start
    for output in read:
        data = output.data[:half]
        data = data[: len(data) - incomplete(data)] if len(data) < len(output.data) else data
        parts += _shown(output, data)
        half -= len(data)
        place = output.start + len(data)
        if len(data) < len(output.data):
            break
    end = last.task.bytes
    rest = _gather(tasks, id, -(_ROOM // 2) if end - _ROOM // 2 > place else place, None, _ROOM // 2)
    parts.append(f"[{rest[0].start - place:,} bytes left out; since={place} reads them]")
    parts.append(rest[0].text)
    parts += [text for output in rest[1:] for text in _shown(output, output.data)]
    return _joined(parts), rest[-1]


def _gather(tasks: Tasks, id: str, since: int, lines: int | None, room: int) -> list[Output]:
    """What can be read, in several parts if some is missing in between; at most so many bytes."""
    read = [tasks.output(id, since=since, lines=lines, limit=room)]
    while read[-1].more and len(read) < _PARTS and (room := room - len(read[-1].data)) > _LEAST:
        read.append(tasks.output(id, since=read[-1].cursor, limit=room))
    return read


def _shown(output: Output, data: bytes) -> list[str]:
    words = [f"{output.dropped:,} bytes are gone"] if output.dropped else []
    words += [f"{output.skipped:,} bytes left out"] if output.skipped else []
    return [f"[{', '.join(words)}]"] * bool(words) + [data.decode("utf-8", "replace")]


def _joined(parts: list[str]) -> str:
    """Each on lines of its own."""
    text = ""
    for part in parts:
        if part:
            text += ("\n" if text and not text.endswith("\n") else "") + part
    return text.removesuffix("\n")


def _status(task: Task, *, brief: bool = False) -> str:
    if task.outcome is None:
        return f"{task.id} cannot be read: {task.problem}"
    if task.alive:
        text = f"{task.id} running for {seconds(task.duration)}"
        if task.idle is not None:
            text += f", last output {seconds(task.idle)} ago" if task.bytes else ", no output yet"
    else:
        how = f"exited with {task.outcome.code}" if isinstance(task.outcome, Exited) else describe(task.outcome)
        text = f"{task.id} {how}" + (f" after {seconds(task.duration)}" if task.state == "ended" else "")
    if brief:
        return text
    if task.out_of_memory:
        text += "\n[it ran out of memory]"
    if task.running:
        left = ", ".join(f"{process.pid} ({process.command[:_COMMAND]})" for process in task.running[:5])
        text += f"\n[{len(task.running)} of its processes could not be ended: {left}]"
    if task.problem:
        text += f"\n[{task.problem[:_COMMAND]}]"
    return text


def _name(task: Task) -> str:
    """The command on one line, and what it is for."""
    command = " ".join(task.command.split())
    command = command if len(command) <= _COMMAND else command[: _COMMAND - 1] + "…"
    about = " ".join(task.description.split())[:_COMMAND]
    name = command + (f" ({about})" if about else "")
    return "".join([letter if letter.isprintable() else "�" for letter in name])


def seconds(value: float) -> str:
    """In words, as exactly as one wants to know."""
    if value < 10:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 120:
        return f"{whole} s"
    if whole < 2 * 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _which(error: NoSuchTask, tasks: Tasks) -> str:
    """The ones that run: the model has most likely mistaken one for another."""
    try:
        live = tasks.list(all=False)
    except OSError:
        return error.hint
    if not live:
        return "No task is running. TaskList with all=true names those that have ended."
    return "Running: " + "; ".join([f"{task.id}: {_name(task)}" for task in live[-10:]])


def _error(code: str, message: str, hint: str) -> str:
    return f"Error ({code}): {message} {hint}".rstrip()


class _Bad(Exception):
    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


class _Arguments:
    """What a model passed. Numbers and truth values may come as words."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        if not isinstance(arguments, Mapping):
            raise _Bad("bad_arguments", "The arguments are no object.", "Pass an object, such as {}.")
        self._given = {name: value for name, value in arguments.items() if value is not None}
        self._known: list[str] = []

    def take(self, name: str, default: Any = None) -> Any:
        self._known.append(name)
        return self._given.pop(name, default)

    def id(self) -> str:
        given = [value for name in _IDS if (value := self._given.pop(name, None)) is not None]
        self._known.append(_IDS[0])
        if not given:
            raise _Bad("missing_argument", "`task_id` is missing.", "TaskList names the tasks.")
        if not isinstance(given[0], str):
            raise _Bad("bad_task_id", f"`task_id` is {given[0]!r:.60}.", "Give an id such as bash-3f9c2a17.")
        return given[0].strip()

    def flag(self, name: str, *, default: bool) -> bool:
        value = self.take(name, default)
        value = {"true": True, "false": False}.get(value.strip().lower(), value) if isinstance(value, str) else value
        if not isinstance(value, bool):
            raise _Bad(f"bad_{name}", f"`{name}` is {value!r:.60}.", "Use true or false.")
        return value

    def number(self, name: str, default: float) -> float:
        value = self.take(name, default)
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                value = math.nan
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise _Bad(f"bad_{name}", f"`{name}` is {value!r:.60}.", "Give seconds, from 0 to 600.")
        return float(min(value, _LONGEST_TIMEOUT))

    def whole(self, name: str) -> int | None:
        value = self.take(name)
        if value is None:
            return None
        if isinstance(value, str) and len(value) < 20 and value.strip().lstrip("-").isdecimal():
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise _Bad(f"bad_{name}", f"`{name}` is {value!r:.60}.", "Give a whole number.")
        return value

    def check_rest(self) -> None:
        if self._given:
            names = ", ".join(sorted(str(name)[:40] for name in self._given)[:5])
            known = ", ".join(self._known)
            raise _Bad("unknown_argument", f"There is no argument {names}.", f"Those that there are: {known}.")
