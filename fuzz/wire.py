"""Fuzz the messages between host and keeper: a message must be decoded unchanged; a damaged one must be refused or
decode to a valid message."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from nacre.keeper.protocol.ending import CANCELLED, EXITED, TIMED_OUT, EndKind, EndReason, ExceededLimit
from nacre.keeper.protocol.messages import (
    AdoptMessage,
    MalformedMessage,
    StartMessage,
    environment_block,
    environment_of,
)
from nacre.keeper.protocol.replies import (
    AdoptedReply,
    AssignedReply,
    EndedReply,
    FailedReply,
    Reply,
    RunningReply,
    StartedReply,
    parse_reply,
)

_DAMAGED = (
    b"", b"-1", b"-5.0", b"-0", b"nan", b"inf", b"-inf", b"1e999", b"1_0", b"+1", b" 1", b"1 ", b"007", b"0x1",
    b"9" * 5000, b"999", b"-2", b"1.", b"\xd9\xa1", b"true", b"xyzxyzxyzx", b"0101", b"2222222222", b"1111111111",
    b"00000000000", b"junk", b"starts", b"adopt", b"start", b"=", b"A=1", b"\xff", b"18446744073709551616",
)  # fmt: skip
"""Replacement values for a field."""
_FLAGS = (
    "merge",
    "keep_leftovers",
    "standby_ok",
    "has_stdin",
    "has_state",
    "dedicated",
    "reports_state",
    "report_pipestatus",
    "wait_for_jobs",
)
_WORDS = ("bash", "cwd", "private_dir", "task", "protection", "kill_script")


class Wire:
    """A case is a value as JSON, which must survive a round trip, or the bytes of a damaged message."""

    def close(self) -> None:
        pass

    def invent(self, seed: int) -> str | bytes:
        made = random.Random(seed)
        fields = made.choice((_start, _start, _start, _adoption, _environment, _reply))(made)
        if made.random() < 0.3:
            return json.dumps(fields)
        if made.random() < 0.05:
            return made.randbytes(made.randrange(200))
        message = _message(fields)
        for _ in range(made.choice((1, 1, 1, 3))):
            message = _damage_message(message, made)
        return message

    def wrong(self, case: str | bytes) -> str:
        if isinstance(case, str):
            return _find_lost_field(json.loads(case))
        return next(
            (
                said
                for decode in (StartMessage.parse, AdoptMessage.parse, parse_reply, environment_of)
                if (said := _check_decoded(case, decode))
            ),
            "",
        )


def _start(made: random.Random) -> dict[str, Any]:
    files = made.random() < 0.5
    fields: dict[str, Any] = {name: made.random() < 0.5 for name in _FLAGS} | {name: _word(made) for name in _WORDS}
    fields |= {
        "tag": made.randrange(1 << made.choice((1, 8, 63))),
        "timeout": made.choice((0.0, 120.0, made.random() * 100, float("inf"), 1e300)),
        "grace": made.choice((0.0, 1.5, made.random())),
        "log_cap": made.randrange(1 << made.choice((1, 8, 40))),
        "deferred": "" if made.random() < 0.5 else _word(made),
        "text": None if files and made.random() < 0.5 else _word(made),
        "ruleset": "\0".join(_word(made) for _ in range(made.randrange(3))),
        "env": "\0".join(f"{_word(made)}=x" for _ in range(made.randrange(3))),
    }
    if not files:
        fields |= {"has_stdin": False, "has_state": False}
    if fields["text"] is None or fields["has_stdin"] or fields["has_state"] or fields["deferred"]:
        fields["standby_ok"] = False  # the encoder does not set it either
    return fields


def _adoption(made: random.Random) -> dict[str, Any]:
    sizes = {name: made.randrange(1 << made.choice((1, 8, 40))) for name in ("log_cap", "total_bytes")}
    return {
        "task": _word(made),
        "protection": _word(made),
        "detached": made.random() < 0.5,
        "live": made.random() < 0.5,
        **sizes,
    }


def _environment(made: random.Random) -> dict[str, Any]:
    names = (_word(made).replace("=", "") for _ in range(made.randrange(1, 5)))
    return {"environment": {name: _word(made) for name in names}}


def _reply(made: random.Random) -> dict[str, Any]:
    number, other = made.randrange(1 << 22), made.randrange(1 << 22)
    reply: Reply
    match made.randrange(10):
        case 0:
            reply = AssignedReply(number)
        case 1:
            reply = StartedReply(number, other)
        case 2:
            reply = RunningReply()
        case 3:
            reply = AdoptedReply(number, other)
        case 4:
            reply = FailedReply(made.randrange(100), _word(made))
        case _:
            reply = _make_ended(made)
    return {"reply": reply.message().decode("latin-1")}


def _make_ended(made: random.Random) -> EndedReply:
    amount = made.choice((made.randrange(1 << 40), round(made.random() * 1e9, 1)))
    over = ExceededLimit(made.choice(("memory", "cpu")), amount, made.choice((amount, round(float(amount), 1))))
    reasons = (
        EXITED,
        TIMED_OUT,
        CANCELLED,
        EndReason(EndKind.LIMIT, limit=over),
        EndReason(EndKind.KILL, requester=_word(made)),
    )
    killed, running = (
        [(made.randrange(1 << 22), made.randrange(1 << 22), _word(made)) for _ in range(made.choice((0, 0, 1, 3)))]
        for _ in range(2)
    )
    return EndedReply(
        made.choice((-1, 0, 9, made.randrange(1 << 16))),
        made.choice(reasons),
        made.random() * 100,
        all_sleeping=made.random() < 0.5,
        out_of_memory=made.random() < 0.5,
        killed_leftovers=killed,
        running=running,
    )


def _word(made: random.Random) -> str:
    """Return bytes without NUL, as one character per byte."""
    return made.randbytes(made.randrange(8)).decode("latin-1").replace("\0", "")


def _value(fields: dict[str, Any]) -> StartMessage | AdoptMessage:
    given: dict[str, Any] = {
        name: each.encode("latin-1") if isinstance(each, str) else each for name, each in fields.items()
    }
    return StartMessage(**given) if "tag" in given else AdoptMessage(**given)


def _message(fields: dict[str, Any]) -> bytes:
    if "reply" in fields:
        return str(fields["reply"]).encode("latin-1")
    return environment_block(fields["environment"]) if "environment" in fields else _value(fields).message()


def _find_lost_field(fields: dict[str, Any]) -> str:
    """Return a field that did not survive the round trip; empty if all did."""
    message = _message(fields)
    if "environment" in fields:
        said = {name.encode(): value.encode() for name, value in fields["environment"].items()}
        return "" if environment_of(message) == said else "the environment has come back as another"
    if "reply" in fields:
        return "" if parse_reply(message).message() == message else "the reply has come back as another"
    value = _value(fields)
    back = type(value).parse(message)
    for name in type(value).__annotations__:
        before, after = getattr(value, name), getattr(back, name)
        if type(before) is not type(after) or before != after:
            return f"{name} was {before!r}, and is {after!r}"
    return ""


def _damage_message(message: bytes, made: random.Random) -> bytes:
    if made.random() < 0.6:
        fields = message.split(b"\0")
        fields[made.randrange(len(fields))] = made.choice(_DAMAGED)
        return b"\0".join(fields)
    at = made.randrange(len(message) + 1)
    return message[:at] + made.randbytes(made.randrange(4)) + message[at + made.randrange(4) :]


def _encode_again(value: Any) -> bytes:
    if isinstance(value, dict):
        return b"\0".join(b"%b=%b" % pair for pair in value.items())
    assert isinstance(value, StartMessage | AdoptMessage | Reply)
    return value.message()


def _check_decoded(case: bytes, decode: Callable[[bytes], Any]) -> str:
    """Return what is wrong with the decoded value; empty if nothing is. Refusing a damaged message is right."""
    try:
        value = decode(case)
    except MalformedMessage:
        return ""
    if (again := _encode_again(value)) != case:
        return f"{decode.__qualname__} has taken it for {again!r}"
    if isinstance(value, StartMessage) and not (
        value.tag >= 0 and value.timeout >= 0 and 0 <= value.grace < float("inf")
    ):
        return f"{decode.__qualname__} takes numbers that cannot be: {value.tag}, {value.timeout}, {value.grace}"
    if isinstance(value, StartMessage | AdoptMessage) and value.log_cap < 0:
        return f"{decode.__qualname__} takes a log of {value.log_cap} bytes"
    return ""
