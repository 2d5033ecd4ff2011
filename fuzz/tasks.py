"""Fuzz task directories, with damaged files: what is read from them must be in the files, at the stated position, and
impossible values must be rejected."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

from fuzz.files import damage_bytes
from nacre.errors import NacreError
from nacre.keeper.protocol.task_dir import (
    LOG,
    PROCESS,
    STATUS,
    TASK,
    head_bytes,
    segment_bytes,
    segment_name,
    segment_offset,
)
from nacre.tasks import Tasks as Store
from nacre.tasks.store.log_reader import Output
from nacre.tasks.store.task import Task

_ID = "bash-0123abcd"
_CAP = 400
_STREAM = b"".join(b"line %d\n" % number for number in range(60)) + "grüße, 日本\n".encode() * 20
_NOTE = b"\n[nacre: some bytes left out]\n"
_TASK_FIELDS = {
    "version": 1, "id": _ID, "kind": "background", "command": "make", "description": "all of it", "cwd": "/",
    "created": 1.0, "owner": {"uid": 0, "pid": 999997, "conversation": "c"}, "timeout": None, "access": "unrestricted",
    "enforced": [], "cap": _CAP, "stdin": False, "detached": True,
}  # fmt: skip
_PROCESS_FIELDS = {"boot": "x", "keeper": [999998, 1], "pid": 999999, "started": 1, "pgid": 999999, "tag": 7}
_VALUES: tuple[object, ...] = (
    -1,
    -7.5,
    0,
    1,
    3,
    250,
    2**62,
    2**70,
    1e300,
    float("nan"),
    "",
    "x",
    True,
    None,
    [],
    {},
    [[0, 9, 0]],
    "\ud800",
)
"""Replacement values for a field."""
_MAX_READS = 100
"""Maximum number of reads of one log."""


class Tasks:
    """A case is the files of a task directory, the read parameters, and the expected result if nothing is damaged; as
    JSON."""

    def __init__(self) -> None:
        self._store = Path(tempfile.mkdtemp(prefix="nacre-fuzz-"))
        self._folder = self._store / _ID

    def close(self) -> None:
        shutil.rmtree(self._store, ignore_errors=True)

    def invent(self, seed: int) -> bytes:
        made = random.Random(seed)
        kept, parts = _parts(made)
        files = _ended_files(made, kept, parts) if made.random() < 0.6 else _lost_files(kept, parts)
        case: dict[str, Any] = {
            "since": made.choice((0, 0, 0, 7, 300, -1, -50, -5000)),
            "lines": made.choice((None, None, None, 0, 1, 3, 500)),
            "limit": made.choice((1 << 20, 1 << 20, 0, 1, 100)),
        }
        if made.random() < 0.3:
            case |= {"since": 0, "lines": None, "limit": made.choice((1 << 20, 64)), "kept": kept}
        else:
            files = {name: _damage_file(name, data, made) for name, data in files.items() if made.random() < 0.95}
        return json.dumps(case | {"files": {name: data.decode("latin-1") for name, data in files.items()}}).encode()

    def wrong(self, case: bytes) -> str:
        given = json.loads(case)
        files = {name: text.encode("latin-1") for name, text in given["files"].items()}
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(mode=0o700)
        for name, data in files.items():
            file = self._folder / name
            file.write_bytes(data)
            file.chmod(0o600)
        store = Store(self._store)
        found = store.list()
        if [task.id for task in found] != ([_ID] if TASK in files else []):
            return f"{[task.id for task in found]} are there"
        for task in found:
            if said := _find_untrue_fact(task, files) or self._find_misread(store, task, given, files):
                return said
        return ""

    def _find_misread(self, store: Store, task: Task, given: dict[str, Any], files: dict[str, bytes]) -> str:
        intact = given.get("kept")
        read: list[list[Any]] = []
        since = given["since"]
        for _ in range(_MAX_READS):
            try:
                output = store.output(task.id, since=since, lines=given["lines"], limit=given["limit"])
            except NacreError as error:
                return f"it is not damaged, and cannot be read: {error}" if intact else ""
            if said := _find_untrue_fact(output.task, files) or _find_wrong_output(
                output, since, given["lines"], files
            ):
                return said
            if output.data:
                read.append([output.start, output.data])
            if not output.more or output.cursor == since:
                break
            since = output.cursor
        if intact and len(intact) == 1 and any(_is_cut(data) for _, data in read[:-1]):
            return f"it is cut inside of a character: {read}"
        if intact and (task.state == "broken" or _join_parts(read) != [[at, _STREAM[at:end]] for at, end in intact]):
            return f"it is not damaged, and {task.state}; {_join_parts(read)} is read"
        return ""


def _parts(made: random.Random) -> tuple[list[list[int]], list[tuple[int, bytes]]]:
    """Return the kept ranges of a stream, one or two, and the segments that contain them."""
    end, head = made.choice((0, 3, 150, head_bytes(_CAP), 500, len(_STREAM))), head_bytes(_CAP)
    size = segment_bytes(_CAP)
    rest = range(head, end, size)
    first = made.choice((*rest, head)) if made.random() < 0.7 else head
    cuts = [(0, min(head, end)), *((at, min(at + size, end)) for at in rest if at >= first)]
    kept = [[start, stop] for start, stop in cuts if stop > start]
    whole: list[list[int]] = []
    for start, stop in kept:
        if whole and whole[-1][1] == start:
            whole[-1][1] = stop
        else:
            whole.append([start, stop])
    return whole, [(start, _STREAM[start:stop]) for start, stop in kept]


def _ended_files(made: random.Random, kept: list[list[int]], parts: list[tuple[int, bytes]]) -> dict[str, bytes]:
    """Return the files of a task that has ended: its log is one file, with an index."""
    log, pieces = b"", list[list[int]]()
    for start, data in parts:
        log += _NOTE if pieces and pieces[-1][0] + pieces[-1][1] < start else b""
        pieces.append([start, len(data), len(log)])
        log += data
    end = kept[-1][1] if kept else 0
    outcome = made.choice(
        ({"kind": "exited", "code": 0}, {"kind": "signalled", "signal": 9}, {"kind": "timed_out", "after": 5.0})
    )
    status = {
        "version": 1, "outcome": outcome, "pid": 5, "pgid": 5, "ended": 2.0, "duration": 1.0, "cpu": 0.0,
        "out_of_memory": False, "running": [{"pid": 6, "pgid": 5, "command": "sleep 9"}],
        "log": {"bytes": end, "dropped": end - sum(len(data) for _, data in parts), "pieces": pieces, "problem": ""},
    }  # fmt: skip
    return {
        TASK: _json(_TASK_FIELDS),
        PROCESS: _json(_PROCESS_FIELDS),
        STATUS: _json(status),
        LOG: log + b"[nacre: exit 0]\n",
    }


def _lost_files(kept: list[list[int]], parts: list[tuple[int, bytes]]) -> dict[str, bytes]:
    """Return the files of a task whose keeper was killed: its log is still in segments."""
    files = {LOG if start == 0 else segment_name(start): data for start, data in parts}
    if len(parts) > 1:
        files[LOG] += _NOTE
    return {TASK: _json(_TASK_FIELDS), PROCESS: _json(_PROCESS_FIELDS), **files}


def _damage_file(name: str, data: bytes, made: random.Random) -> bytes:
    if made.random() < 0.5:
        return damage_bytes(data, made)
    if not name.endswith(".json") or made.random() < 0.5:
        return data
    whole = json.loads(data)
    table = whole
    while True:
        key = made.choice([*table]) if isinstance(table, dict) else made.randrange(len(table))
        if isinstance(table[key], dict | list) and table[key] and made.random() < 0.8:
            table = table[key]
            continue
        table[key] = made.choice(_VALUES)
        return _json(whole)


def _is_cut(data: bytes) -> bool:
    try:
        data.decode()
    except ValueError:
        return True
    return False


def _json(data: dict[str, Any]) -> bytes:
    return json.dumps(data).encode() + b"\n"


def _join_parts(read: list[list[Any]]) -> list[list[Any]]:
    whole: list[list[Any]] = []
    for start, data in read:
        if whole and whole[-1][0] + len(whole[-1][1]) == start:
            whole[-1][1] += data
        else:
            whole.append([start, data])
    return whole


def _loads(data: bytes) -> Any:
    """Return the JSON value; None if it cannot be parsed."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _find_untrue_fact(task: Task, files: dict[str, bytes]) -> str:
    """Return a fact of the task that is not in its files; empty if there is none."""
    json.dumps(task.to_dict(), allow_nan=False)
    if task.id != _ID or not task.summary:
        return f"it is {task.id!r}, {task.summary!r}"
    if min(task.bytes, task.dropped, task.duration, task.idle or 0, task.created) < 0:
        return f"less than nothing: {task}"
    if task.state == "broken":
        return "" if task.problem and task.outcome is None else "the task is broken, and its `problem` is empty"
    asked, over = _loads(files[TASK]), _loads(files.get(STATUS, b"null"))
    if isinstance(asked, dict) and (task.command, task.cwd, task.created) != (
        asked["command"], asked["cwd"], asked["created"],
    ):  # fmt: skip
        return f"{task.command!r} in {task.cwd!r} was not asked for"
    if (task.state == "ended") != (STATUS in files):
        return f"it is {task.state}"
    if isinstance(over, dict) and (task.bytes, task.dropped, task.ended) != (
        over["log"]["bytes"], over["log"]["dropped"], over["ended"],
    ):  # fmt: skip
        return f"{task.bytes} bytes, {task.dropped} dropped, ended {task.ended} does not stand there"
    return ""


def _find_wrong_output(output: Output, since: int, lines: int | None, files: dict[str, bytes]) -> str:
    """Return output that is not in the log or is counted wrongly; empty if there is none."""
    if min(output.start, output.dropped, output.skipped) < 0 or output.cursor != output.start + len(output.data):
        return f"from {output.start}, {output.dropped} dropped, {output.skipped} skipped, up to {output.cursor}"
    if since >= 0 and since + output.dropped + output.skipped != output.start:
        return f"{output.dropped} dropped and {output.skipped} skipped do not lead from {since} to {output.start}"
    if lines is not None and len(output.data.removesuffix(b"\n").split(b"\n")) > max(1, lines):
        return f"more than {lines} lines are read"
    places = _places(files)
    at = 0
    while places is not None and at < len(output.data):
        place = output.start + at
        there = max(
            (_same(data[place - start :], output.data[at:]) for start, data in places if start <= place), default=0
        )
        if not there:
            return f"{output.data[at:][:50]!r} does not lie at {place}"
        at += there
    return ""


def _places(files: dict[str, bytes]) -> list[tuple[int, bytes]] | None:
    """Return the position in the stream of each part of the log; None if it is unknown."""
    over = _loads(files.get(STATUS, b"null"))
    segments = [(segment_offset(name) or 0, data) for name, data in files.items() if name.startswith(f"{LOG}.")]
    log = files.get(LOG, b"")
    if STATUS not in files:
        asked = _loads(files[TASK])
        return [(0, log[: head_bytes(asked["cap"])]), *segments] if isinstance(asked, dict) else None
    if not isinstance(over, dict):
        return None
    return [*segments, *((start, log[at : at + length]) for start, length, at in over["log"]["pieces"])]


def _same(one: bytes, other: bytes) -> int:
    """Return the length of the common prefix."""
    most = min(len(one), len(other))
    if one[:most] == other[:most]:
        return most
    return next(at for at in range(most) if one[at] != other[at])
