"""What the files of a task say, and whether they may be believed: JSON data in, values or `Unusable` out. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from nacre.keeper.protocol.task_dir import PROCESS, STATUS, TASK, VERSION
from nacre.result import Outcome, Process, Running, outcome_from
from nacre.tasks.store.directory import Unusable

_LARGEST = 2**62
_LATEST = 253402300799.0
"""The last second of the year 9999: `datetime` goes no further."""
_MOST_PIECES = 100_000


class Asked(NamedTuple):
    """task.json."""

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


class Begun(NamedTuple):
    """process.json."""

    boot: str
    keeper: int
    keeper_start: int
    pid: int
    start: int
    pgid: int
    tag: int


class Over(NamedTuple):
    """status.json."""

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
    """As they stand there: see `pieces_of`."""
    pid: int | None
    pgid: int | None
    """Repeated there, they spare a look at process.json; they need not be."""


def asked_from(data: Mapping[str, Any], name: str) -> Asked:
    try:
        _check_version(data, TASK)
        if data["id"] != name:
            raise Unusable(f"{TASK} is of another task")
        owner = data["owner"]
        timeout = data["timeout"]
        return Asked(
            kind=_text(data["kind"]),
            command=_text(data["command"]),
            description=_text(data["description"]),
            cwd=_text(data["cwd"]),
            created=_number(data["created"]),
            owner_pid=_whole(owner["pid"]),
            conversation=_text(owner["conversation"]),
            timeout=None if timeout is None else _number(timeout),
            access=_text(data["access"]),
            cap=_whole(data["cap"]),
            stdin=_flag(data["stdin"]),
            detached=_flag(data["detached"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Unusable(f"{TASK} is not as nacre writes it") from error


def begun_from(data: Mapping[str, Any]) -> Begun:
    try:
        keeper, keeper_start = data["keeper"]
        return Begun(
            boot=_text(data["boot"]),
            keeper=_whole(keeper),
            keeper_start=_whole(keeper_start),
            pid=_whole(data["pid"]),
            start=_whole(data["started"]),
            pgid=_whole(data["pgid"]),
            tag=_whole(data["tag"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Unusable(f"{PROCESS} is not as nacre writes it") from error


def over_from(data: Mapping[str, Any]) -> Over:
    try:
        _check_version(data, STATUS)
        log = data["log"]
        pieces = log["pieces"]
        if type(pieces) is not list or len(pieces) > _MOST_PIECES:
            raise ValueError("pieces")
        left = data["running"]
        return Over(
            outcome=_outcome(data["outcome"]),
            ended=_number(data["ended"]),
            duration=_number(data["duration"]),
            out_of_memory=_flag(data["out_of_memory"]),
            running=tuple([_process(each) for each in left]) if left else (),
            notes=tuple([_text(each) for each in data["notes"]]) if "notes" in data else (),
            bytes=_whole(log["bytes"]),
            dropped=_whole(log["dropped"]),
            problem=_text(log["problem"]),
            pieces=pieces,
            pid=_whole(data["pid"]) if "pid" in data else None,
            pgid=_whole(data["pgid"]) if "pgid" in data else None,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Unusable(f"{STATUS} is not as nacre writes it") from error


def pieces_of(over: Over) -> list[tuple[int, int, int]]:
    """(start, length, at): which part of the stream lies where in the log. In order, and none empty."""
    try:
        pieces = [(_whole(start), _whole(length), _whole(at)) for start, length, at in over.pieces]
    except (TypeError, ValueError) as error:
        raise Unusable(f"{STATUS} is not as nacre writes it") from error
    return sorted(piece for piece in pieces if piece[1])


def _outcome(data: Any) -> Outcome:
    outcome = outcome_from(data)
    for name, kind in type(outcome).__annotations__.items():
        _CHECKS[kind](getattr(outcome, name))
    if type(outcome) is Running:
        raise ValueError("running")
    return outcome


def _process(data: Any) -> Process:
    return Process(_whole(data["pid"]), _whole(data["pgid"]), _text(data["command"]))


def _check_version(data: Mapping[str, Any], name: str) -> None:
    version = data["version"]
    if version != VERSION:
        newer = type(version) is int and VERSION < version < _LARGEST
        raise Unusable(f"{name} is of a newer nacre (version {version})" if newer else f"{name} has no known version")


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError("text")
    return value


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError("whole")
    if not 0 <= value < _LARGEST:
        raise ValueError("whole")
    return value


def _number(value: Any) -> float:
    """Seconds, of whatever."""
    if type(value) is not float and type(value) is not int:
        raise TypeError("number")
    if not 0 <= value <= _LATEST:
        raise ValueError("number")
    return float(value)


def _amount(value: Any) -> float:
    if type(value) is int and abs(value) < _LARGEST:
        return value
    if type(value) is not float or not math.isfinite(value):
        raise TypeError("amount")
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise TypeError("flag")
    return value


def _code(value: Any) -> int:
    if type(value) is not int or not -_LARGEST < value < _LARGEST:
        raise TypeError("code")
    return value


_CHECKS = {"int": _code, "float": _amount, "str": _text, "bool": _flag}
"""By the annotations of outcomes."""
