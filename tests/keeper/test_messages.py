"""Messages between host and keeper, in both framings. A decoder answers or raises for any bytes, and nothing else."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.keeper.protocol.messages import (
    AdoptMessage,
    MalformedMessage,
    StartMessage,
    environment_block,
    environment_of,
)

WORDS = st.binary(max_size=40).map(lambda data: data.replace(b"\0", b""))
STARTS = st.builds(
    StartMessage,
    tag=st.integers(0, 1 << 62),
    timeout=st.floats(0, allow_nan=False),
    grace=st.floats(0, allow_nan=False, allow_infinity=False),
    merge=st.booleans(),
    keep_leftovers=st.booleans(),
    standby_ok=st.just(False),
    has_stdin=st.booleans(),
    has_state=st.booleans(),
    bash=WORDS,
    cwd=WORDS,
    text=st.none() | WORDS,
    env=WORDS,
)


def values(start: StartMessage) -> dict[str, object]:
    return {name: getattr(start, name) for name in StartMessage.__annotations__}


@given(STARTS)
def test_start_message_survives_a_round_trip(start: StartMessage) -> None:
    assert values(StartMessage.parse(start.message())) == values(start)


NAMES = st.text(st.characters(blacklist_characters="\0=", blacklist_categories=["Cs"]), min_size=1, max_size=10)
VALUES = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=30)


@given(st.dictionaries(NAMES, VALUES, max_size=8))
def test_environment_survives_a_round_trip(env: dict[str, str]) -> None:
    assert environment_of(environment_block(env)) == {name.encode(): value.encode() for name, value in env.items()}


def test_invalid_utf8_survives_in_an_environment() -> None:
    assert environment_of(environment_block({"A": "\udcff"})) == {b"A": b"\xff"}


START = StartMessage(
    tag=7, timeout=120.0, grace=1.5, merge=False, keep_leftovers=True, standby_ok=True,
    has_stdin=False, has_state=False,
    bash=b"/bin/bash", cwd=b"/", text=b"true", env=b"A=1\0B=2", ruleset=b"read=/", log_cap=10,
)  # fmt: skip
PLACES = {"verb": 0, "tag": 1, "timeout": 2, "grace": 3, "flags": 4, "cap": 9, "text": 12, "size": 14}


@pytest.mark.parametrize(
    ("field", "damage"),
    [
        ("verb", b"junk"), ("verb", b""), ("tag", b"-1"), ("tag", b"1_0"), ("tag", b" 1"), ("tag", b"+1"),
        ("tag", b"01"), ("tag", b""), ("tag", b"9" * 5000), ("tag", b"9223372036854775808"), ("timeout", b"nan"),
        ("timeout", b"-5.0"), ("timeout", b"-inf"), ("timeout", b"120"), ("timeout", b"1_0.0"), ("timeout", b" 1.0"),
        ("grace", b"inf"), ("grace", b"nan"), ("grace", b"-1.0"), ("flags", b"xyzxyzxyzx"), ("flags", b"010000000"),
        ("flags", b"01000000000"), ("flags", b"0120000000"), ("flags", b"0111000000"), ("flags", b"0100010000"),
        ("cap", b"-1"), ("cap", b"1e3"), ("size", b"999"), ("size", b"-2"), ("size", b"06"), ("size", b""),
    ],
)  # fmt: skip
def test_malformed_field_of_a_start_message_is_refused(field: str, damage: bytes) -> None:
    fields = START.message().split(b"\0")
    fields[PLACES[field]] = damage
    with pytest.raises(MalformedMessage):
        StartMessage.parse(b"\0".join(fields))


def test_start_message_may_have_an_infinite_timeout() -> None:
    fields = START.message().split(b"\0")
    fields[PLACES["timeout"]] = b"inf"
    assert StartMessage.parse(b"\0".join(fields)).timeout == float("inf")


def test_integer_seconds_survive_a_round_trip() -> None:
    start = StartMessage.parse(START.message())
    start.timeout, start.grace = 30, 2
    assert values(StartMessage.parse(start.message())) == values(start)


def test_start_message_with_stdin_is_not_for_a_standby_shell() -> None:
    start = StartMessage.parse(START.message())
    start.has_stdin = True
    assert not StartMessage.parse(start.message()).standby_ok


@pytest.mark.parametrize(
    "message",
    [b"adopts\0t\x001\x002\x0011", b"\0t\x001\x002\x0011", b"adopt\0t\0-1\x002\x0011", b"adopt\0t\x001\x002_0\x0011",
     b"adopt\0t\x001\x002\x0012", b"adopt\0t\x001\x002\x00111", b"adopt\0t\x001\x002", b"adopt\0t\x001\x002\x0011\0"],
)  # fmt: skip
def test_malformed_adopt_message_is_refused(message: bytes) -> None:
    with pytest.raises(MalformedMessage):
        AdoptMessage.parse(message)


SIZES = st.integers(0, 1 << 62)


@given(
    st.builds(AdoptMessage, task=WORDS, log_cap=SIZES, total_bytes=SIZES, detached=st.booleans(), live=st.booleans())
)
def test_adopt_message_survives_a_round_trip(adoption: AdoptMessage) -> None:
    assert AdoptMessage.parse(adoption.message()).message() == adoption.message()


def test_environment_with_a_duplicate_name_is_refused() -> None:
    with pytest.raises(MalformedMessage):
        environment_of(b"A=1\0B=2\0A=3")


GARBAGE = st.binary(max_size=200) | st.lists(WORDS, min_size=1, max_size=12).map(b"\0".join)


@given(GARBAGE)
def test_garbage_is_a_valid_start_message_or_refused(data: bytes) -> None:
    with contextlib.suppress(MalformedMessage):
        assert StartMessage.parse(data).message() == data


@given(STARTS, st.integers(0, 300), st.binary(max_size=5))
def test_damaged_start_message_is_valid_or_refused(start: StartMessage, place: int, damage: bytes) -> None:
    message = start.message()
    damaged = message[:place] + damage + message[place + len(damage) :]
    with contextlib.suppress(MalformedMessage):
        assert StartMessage.parse(damaged).message() == damaged


@given(GARBAGE)
def test_garbage_is_a_valid_environment_or_refused(data: bytes) -> None:
    with contextlib.suppress(MalformedMessage):
        environment_of(data)
