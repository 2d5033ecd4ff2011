"""Parse and validate the files of a task: JSON data goes in, values or `InvalidTaskDirectory` come out. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from nacre.keeper.protocol.task_dir import PROCESS, STATUS, TASK, VERSION
from nacre.outcomes import outcome_from_data
from nacre.result import Outcome, Process, Running
from nacre.tasks.store.directory import InvalidTaskDirectory

_MAX_NUMBER = 2**62
_MAX_TIME = 253402300799.0
"""Last second of the year 9999, the maximum of `datetime`."""
_MAX_PIECES = 100_000


class TaskFile(NamedTuple):
    """Content of task.json: the request, written when the task is created."""

    kind: str
    command: str
    description: str
    cwd: str
    created: float
    owner_pid: int
    conversation: str
    timeout: float | None
    access: str
    cap: int
    stdin: bool
    detached: bool


class ProcessFile(NamedTuple):
    """Content of process.json: the processes of the task and its keeper."""

    boot: str
    keeper: int
    keeper_start: int
    pid: int
    start: int
    pgid: int
    tag: int


class StatusFile(NamedTuple):
    """Content of status.json: how the task ended."""

    outcome: Outcome
    ended: float
    duration: float
    out_of_memory: bool
    running: tuple[Process, ...]
    notes: tuple[str, ...]
    bytes: int
    dropped: int
    problem: str
    pieces: list[Any]
    """Not validated; see `parse_pieces`."""
    pid: int | None
    pgid: int | None
    """Optional copies from process.json, which then need not be read."""


def parse_task_file(data: Mapping[str, Any], name: str) -> TaskFile:
    """Validate task.json of the task `name`. InvalidTaskDirectory: invalid."""
    try:
        _check_version(data, TASK)
        if data["id"] != name:
            raise InvalidTaskDirectory(f"{TASK} belongs to another task")
        owner = data["owner"]
        timeout = data["timeout"]
        return TaskFile(
            kind=_text(data["kind"]),
            command=_text(data["command"]),
            description=_text(data["description"]),
            cwd=_text(data["cwd"]),
            created=_number(data["created"]),
            owner_pid=_read_int(owner["pid"]),
            conversation=_text(owner["conversation"]),
            timeout=None if timeout is None else _number(timeout),
            access=_text(data["access"]),
            cap=_read_int(data["cap"]),
            stdin=_flag(data["stdin"]),
            detached=_flag(data["detached"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidTaskDirectory(f"{TASK} is not as nacre writes it") from error


def parse_process_file(data: Mapping[str, Any]) -> ProcessFile:
    """Validate process.json. InvalidTaskDirectory: invalid."""
    try:
        keeper, keeper_start = data["keeper"]
        return ProcessFile(
            boot=_text(data["boot"]),
            keeper=_read_int(keeper),
            keeper_start=_read_int(keeper_start),
            pid=_read_int(data["pid"]),
            start=_read_int(data["started"]),
            pgid=_read_int(data["pgid"]),
            tag=_read_int(data["tag"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidTaskDirectory(f"{PROCESS} is not as nacre writes it") from error


def parse_status_file(data: Mapping[str, Any]) -> StatusFile:
    """Validate status.json, but for the log's pieces. InvalidTaskDirectory: invalid."""
    try:
        _check_version(data, STATUS)
        log = data["log"]
        pieces = log["pieces"]
        if type(pieces) is not list or len(pieces) > _MAX_PIECES:
            raise ValueError("pieces")
        left = data["running"]
        return StatusFile(
            outcome=_outcome(data["outcome"]),
            ended=_number(data["ended"]),
            duration=_number(data["duration"]),
            out_of_memory=_flag(data["out_of_memory"]),
            running=tuple([_process(each) for each in left]) if left else (),
            notes=tuple([_text(each) for each in data["notes"]]) if "notes" in data else (),
            bytes=_read_int(log["bytes"]),
            dropped=_read_int(log["dropped"]),
            problem=_text(log["problem"]),
            pieces=pieces,
            pid=_read_int(data["pid"]) if "pid" in data else None,
            pgid=_read_int(data["pgid"]) if "pgid" in data else None,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidTaskDirectory(f"{STATUS} is not as nacre writes it") from error


def parse_pieces(over: StatusFile) -> list[tuple[int, int, int]]:
    """Return (start, length, at) for each part of the stream, with its offset `at` in output.log. Sorted, without empty
    parts."""
    try:
        pieces = [(_read_int(start), _read_int(length), _read_int(at)) for start, length, at in over.pieces]
    except (TypeError, ValueError) as error:
        raise InvalidTaskDirectory(f"{STATUS} is not as nacre writes it") from error
    return sorted(piece for piece in pieces if piece[1])


def _outcome(data: Any) -> Outcome:
    outcome = outcome_from_data(data)
    for name, kind in type(outcome).__annotations__.items():
        _CHECKS[kind](getattr(outcome, name))
    if type(outcome) is Running:
        raise ValueError("running")
    return outcome


def _process(data: Any) -> Process:
    return Process(_read_int(data["pid"]), _read_int(data["pgid"]), _text(data["command"]))


def _check_version(data: Mapping[str, Any], name: str) -> None:
    version = data["version"]
    if version != VERSION:
        newer = type(version) is int and VERSION < version < _MAX_NUMBER
        raise InvalidTaskDirectory(
            f"{name} was written by a newer nacre (version {version})" if newer else f"{name} has no known version"
        )


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError("text")
    return value


def _read_int(value: Any) -> int:
    if type(value) is not int:
        raise TypeError("whole")
    if not 0 <= value < _MAX_NUMBER:
        raise ValueError("whole")
    return value


def _number(value: Any) -> float:
    """Return a non-negative time or duration in seconds."""
    if type(value) is not float and type(value) is not int:
        raise TypeError("number")
    if not 0 <= value <= _MAX_TIME:
        raise ValueError("number")
    return float(value)


def _read_byte_count(value: Any) -> float:
    if type(value) is int and abs(value) < _MAX_NUMBER:
        return value
    if type(value) is not float or not math.isfinite(value):
        raise TypeError("amount")
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise TypeError("flag")
    return value


def _code(value: Any) -> int:
    if type(value) is not int or not -_MAX_NUMBER < value < _MAX_NUMBER:
        raise TypeError("code")
    return value


_CHECKS = {"int": _code, "float": _read_byte_count, "str": _text, "bool": _flag}
"""Validators by the type annotation of an outcome's field."""
