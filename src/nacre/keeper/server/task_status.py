"""The outcome of a task for its status file: kind and fields as JSON, and a few words for people. Pure."""

from __future__ import annotations

import os
import signal

from nacre.keeper.protocol.ending import EndKind
from nacre.keeper.server.run import Run
from nacre.keeper.server.task_record import json_string


def status_of(run: Run) -> tuple[dict[str, str], str]:
    """Return the outcome of an ended task, and its description."""
    reason = run.reason
    match reason.kind:
        case EndKind.TIMEOUT:
            return _outcome("timed_out", after=f"{run.start.timeout:g}"), f"timed out after {run.start.timeout:g} s"
        case EndKind.KILL:
            by = reason.requester
            return _outcome("killed", by=json_string(by), signal=f"{run.signal}"), f"killed by {by}"
        case EndKind.CANCEL:
            return _outcome("cancelled"), "cancelled"
        case EndKind.LIMIT:
            assert reason.limit is not None
            name, allowed, used = reason.limit.name, reason.limit.allowed, reason.limit.used
            words = f"over its limit on {name}"
            return _outcome("over_limit", limit=json_string(name), allowed=f"{allowed!r}", used=f"{used!r}"), words
    return _by_status(run.status if run.task_leader is None else run.leader_status)


def _by_status(status: int | None) -> tuple[dict[str, str], str]:
    if status is None:
        return _outcome("lost", reason=json_string("its end was seen, but not how it ended")), "ended"
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return _outcome("exited", code=f"{code}"), f"exit {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"SIG{-code}"
    return _outcome("signalled", signal=f"{-code}"), f"ended by {name}"


def _outcome(kind: str, **fields: str) -> dict[str, str]:
    return {"kind": json_string(kind), **fields}
