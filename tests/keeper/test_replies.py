"""Messages of the keeper to the host. The decoder answers or raises for any bytes, and nothing else."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.keeper.protocol.ending import CANCELLED, EXITED
from nacre.keeper.protocol.messages import MalformedMessage
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

ENDED = EndedReply(
    256,
    EXITED,
    1.5,
    all_sleeping=True,
    killed_leftovers=[(7, 7, "sleep 60")],
    running=[(8, 7, "ended 9 9 \N{SNOWMAN}"), (9, 9, "")],
)
REPLIES: dict[bytes, Reply] = {
    b"handed\x0012": AssignedReply(12),
    b"started\x0012\x0034": StartedReply(12, 34),
    b"going": RunningReply(),
    b"adopted\x0012\x0034": AdoptedReply(12, 34),
    b"failed\x002\0No such file": FailedReply(2, "No such file"),
    b"failed\x000\0": FailedReply(0, ""),
    b"ended\0-1\0cancel\x000.0\x0000": EndedReply(-1, CANCELLED, 0.0),
    b"ended\x00256\0exit\x001.5\x0010\0ended 7 7 sleep 60\0running 8 7 ended 9 9 \xe2\x98\x83\0running 9 9 ": ENDED,
}


def values(reply: Reply) -> tuple[object, ...]:
    return type(reply), *(getattr(reply, name) for name in type(reply).__slots__)


@pytest.mark.parametrize("data", REPLIES)
def test_reply_survives_a_round_trip(data: bytes) -> None:
    assert REPLIES[data].message() == data
    assert values(parse_reply(data)) == values(parse_reply(REPLIES[data].message()))
    assert parse_reply(data).message() == data


def test_ended_reply_is_decoded_with_all_its_processes() -> None:
    reply = parse_reply(ENDED.message())
    assert isinstance(reply, EndedReply)
    assert (reply.status, reply.reason, reply.duration, reply.all_sleeping) == (256, EXITED, 1.5, True)
    assert (reply.killed_leftovers, reply.running) == (ENDED.killed_leftovers, ENDED.running)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"junk", b"going\0", b"handed", b"handed\0-1", b"handed\x0001", b"started\x001", b"started\x001\x002\x003",
        b"failed\x002", b"failed\0-2\0words", b"failed\x002\0\xff", b"failed\x002\0a\0b", b"adopted\x001\0 2",
        b"ended\x000\0exit\x001.5", b"ended\x000\0exit\x001.5\x001", b"ended\x000\0exit\x001.5\x0012",
        b"ended\0-2\0exit\x001.5\x0000", b"ended\x000\0exits\x001.5\x0000", b"ended\x000\0exit\x001\x0000",
        b"ended\x000\0exit\0-1.5\x0000", b"ended\x000\0exit\x001.5\x0000\0",
        b"ended\x000\0exit\x001.5\x0000\0other 1 1 a",
        b"ended\x000\0exit\x001.5\x0000\0running 1 1", b"ended\x000\0exit\x001.5\x0000\0running 1 1 a\0ended 2 2 b",
    ],
)  # fmt: skip
def test_malformed_reply_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedMessage):
        parse_reply(data)


@given(st.sampled_from([*REPLIES]), st.integers(0, 80), st.binary(max_size=4))
def test_damaged_reply_is_valid_or_refused(data: bytes, place: int, damage: bytes) -> None:
    damaged = data[:place] + damage + data[place + len(damage) :]
    with contextlib.suppress(MalformedMessage):
        assert parse_reply(damaged).message() == damaged
