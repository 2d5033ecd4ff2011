"""Reasons why a run ended, as keeper and host exchange them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.keeper.protocol.ending import CANCELLED, EXITED, TIMED_OUT, EndKind, EndReason, ExceededLimit
from nacre.keeper.protocol.messages import MalformedMessage

REASONS = {
    b"exit": EXITED,
    b"timeout": TIMED_OUT,
    b"cancel": CANCELLED,
    b"kill process 12 of user 0": EndReason(EndKind.KILL, requester="process 12 of user 0"),
    b"kill ": EndReason(EndKind.KILL),
    b"limit memory 536870912 612368384.0": EndReason(
        EndKind.LIMIT, limit=ExceededLimit("memory", 536870912, 612368384.0)
    ),
    b"limit cpu 0.5 0.7": EndReason(EndKind.LIMIT, limit=ExceededLimit("cpu", 0.5, 0.7)),
    b"limit memory 64 64": EndReason(EndKind.LIMIT, limit=ExceededLimit("memory", 64, 64)),
}


@pytest.mark.parametrize("data", REASONS)
def test_end_reason_survives_a_round_trip(data: bytes) -> None:
    reason = EndReason.parse(data)
    assert (reason, reason.encode()) == (REASONS[data], data)
    assert (reason.kind, reason.requester) == (REASONS[data].kind, REASONS[data].requester)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"exits", b"exit ", b"exit 1", b"cancel x", b"kill", b"kill \xff", b"limit", b"limit memory 1",
        b"limit memory 1 2 3", b"limit memory 01 2", b"limit memory 1 -2", b"limit memory 1 nan",
        b"limit memory inf 2", b"limit memory 1_0 2", b"limit memory 1 2.00", b"limit memory  1 2", b"limit \xff 1 2",
        b"limit memory 1 " + b"9" * 5000,
    ],
)  # fmt: skip
def test_malformed_end_reason_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedMessage):
        EndReason.parse(data)


@given(st.sampled_from([*REASONS]), st.integers(0, 30), st.binary(max_size=4))
def test_damaged_end_reason_is_valid_or_refused(data: bytes, place: int, damage: bytes) -> None:
    damaged = data[:place] + damage + data[place + len(damage) :]
    with contextlib.suppress(MalformedMessage):
        assert EndReason.parse(damaged).encode() == damaged
