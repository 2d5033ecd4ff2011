"""Messages between host and keeper, in both framings. No bytes make a decoder do anything but answer or complain."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.keeper import wire
from nacre.keeper.wire import Adoption, Channel, Garbled, Start, environment_block, environment_of
from tests.support.census import fds

WORDS = st.binary(max_size=40).map(lambda data: data.replace(b"\0", b""))
STARTS = st.builds(
    Start,
    tag=st.integers(0, 1 << 62),
    timeout=st.floats(0, allow_nan=False),
    grace=st.floats(0, allow_nan=False, allow_infinity=False),
    merge=st.booleans(),
    keep=st.booleans(),
    reusable=st.just(False),
    has_stdin=st.booleans(),
    has_state=st.booleans(),
    bash=WORDS,
    cwd=WORDS,
    text=st.none() | WORDS,
    env=WORDS,
)


def values(start: Start) -> dict[str, object]:
    return {name: getattr(start, name) for name in Start.__slots__}


@given(STARTS)
def test_a_start_comes_back_as_it_was(start: Start) -> None:
    assert values(Start.parse(start.message())) == values(start)


NAMES = st.text(st.characters(blacklist_characters="\0=", blacklist_categories=["Cs"]), min_size=1, max_size=10)
VALUES = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=30)


@given(st.dictionaries(NAMES, VALUES, max_size=8))
def test_an_environment_comes_back_as_it_was(env: dict[str, str]) -> None:
    assert environment_of(environment_block(env)) == {name.encode(): value.encode() for name, value in env.items()}


def test_bytes_that_are_no_text_survive_in_an_environment() -> None:
    assert environment_of(environment_block({"A": "\udcff"})) == {b"A": b"\xff"}


START = Start(
    tag=7, timeout=120.0, grace=1.5, merge=False, keep=True, reusable=True, has_stdin=False, has_state=False,
    bash=b"/bin/bash", cwd=b"/", text=b"true", env=b"A=1\0B=2", confinement=b"read=/", cap=10,
)  # fmt: skip
PLACES = {"verb": 0, "tag": 1, "timeout": 2, "grace": 3, "flags": 4, "cap": 8, "text": 11, "size": 12}


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
def test_a_field_that_no_host_writes_is_garbled(field: str, damage: bytes) -> None:
    fields = START.message().split(b"\0")
    fields[PLACES[field]] = damage
    with pytest.raises(Garbled):
        Start.parse(b"\0".join(fields))


def test_a_run_may_last_for_ever() -> None:
    fields = START.message().split(b"\0")
    fields[PLACES["timeout"]] = b"inf"
    assert Start.parse(b"\0".join(fields)).timeout == float("inf")


def test_whole_seconds_of_a_profile_arrive() -> None:
    start = Start.parse(START.message())
    start.timeout, start.grace = 30, 2
    assert values(Start.parse(start.message())) == values(start)


def test_what_has_files_of_its_own_is_not_reusable() -> None:
    start = Start.parse(START.message())
    start.has_stdin = True
    assert not Start.parse(start.message()).reusable


@pytest.mark.parametrize(
    "message",
    [b"adopts\0t\x001\x002\x0011", b"\0t\x001\x002\x0011", b"adopt\0t\0-1\x002\x0011", b"adopt\0t\x001\x002_0\x0011",
     b"adopt\0t\x001\x002\x0012", b"adopt\0t\x001\x002\x00111", b"adopt\0t\x001\x002", b"adopt\0t\x001\x002\x0011\0"],
)  # fmt: skip
def test_an_adoption_that_no_host_writes_is_garbled(message: bytes) -> None:
    with pytest.raises(Garbled):
        Adoption.parse(message)


SIZES = st.integers(0, 1 << 62)


@given(st.builds(Adoption, task=WORDS, cap=SIZES, seen=SIZES, detached=st.booleans(), live=st.booleans()))
def test_an_adoption_comes_back_as_it_was(adoption: Adoption) -> None:
    assert Adoption.parse(adoption.message()).message() == adoption.message()


def test_an_environment_with_a_name_twice_is_garbled() -> None:
    with pytest.raises(Garbled):
        environment_of(b"A=1\0B=2\0A=3")


GARBAGE = st.binary(max_size=200) | st.lists(WORDS, min_size=1, max_size=12).map(b"\0".join)


@given(GARBAGE)
def test_garbage_is_a_start_or_garbled(data: bytes) -> None:
    with contextlib.suppress(Garbled):
        assert Start.parse(data).message() == data


@given(STARTS, st.integers(0, 300), st.binary(max_size=5))
def test_a_damaged_start_is_a_start_or_garbled(start: Start, place: int, damage: bytes) -> None:
    message = start.message()
    damaged = message[:place] + damage + message[place + len(damage) :]
    with contextlib.suppress(Garbled):
        assert Start.parse(damaged).message() == damaged


@given(GARBAGE)
def test_garbage_is_an_environment_or_garbled(data: bytes) -> None:
    with contextlib.suppress(Garbled):
        environment_of(data)


@pytest.fixture(params=["packets", "frames"])
def framing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "packets" and os.environ.get("NACRE_PORTABLE"):
        pytest.skip("packets are switched off")
    monkeypatch.setattr(wire, "LINUX", request.param == "packets")
    return str(request.param)


@contextlib.contextmanager
def connected() -> Iterator[tuple[Channel, Channel]]:
    ours, theirs = Channel.pair()
    other = Channel(theirs)
    try:
        yield ours, other
    finally:
        ours.close()
        other.close()


def test_messages_arrive_in_order_and_apart(framing: str) -> None:
    with connected() as (ours, theirs):
        messages = [b"one", b"two\0fields", b"x" * 60_000, b"\xff" * 10]
        for message in messages:
            ours.send(message)
        assert [theirs.receive() for _ in messages] == [(message, []) for message in messages]
        assert theirs.receive() is None


def test_a_message_of_any_size_arrives_whole(framing: str) -> None:
    large = bytes(range(256)) * 4000
    with connected() as (ours, theirs):
        if framing == "frames":  # a stream socket holds less than that: somebody has to read meanwhile
            import threading

            sender = threading.Thread(target=ours.send, args=(large,))
            sender.start()
            answer = None
            while answer is None:
                answer = theirs.receive()
            sender.join()
        else:
            ours.send(large)
            answer = theirs.receive()
        assert answer == (large, [])


def test_descriptors_arrive_with_their_message_and_are_not_inherited(framing: str) -> None:
    before = fds(os.getpid())
    with connected() as (ours, theirs):
        read, write = os.pipe()
        os.write(write, b"through")
        ours.send(b"first")
        ours.send(b"second", [read, write])
        ours.send(b"third")
        assert theirs.receive() == (b"first", [])
        second = theirs.receive()
        assert second is not None
        message, received = second
        assert (message, len(received), theirs.receive()) == (b"second", 2, (b"third", []))
        assert os.read(received[0], 100) == b"through"
        assert [os.get_inheritable(fd) for fd in received] == [False, False]
        for fd in (read, write, *received):
            os.close(fd)
    assert fds(os.getpid()) == before


def test_the_end_is_told_after_the_last_message(framing: str) -> None:
    with connected() as (ours, theirs):
        ours.send(b"last")
        ours.close()
        assert theirs.receive() == (b"last", [])
        with pytest.raises(EOFError):
            theirs.receive()


def test_what_was_said_is_heard_though_the_other_side_did_not_listen_to_the_end(framing: str) -> None:
    with connected() as (ours, theirs):
        ours.send(b"unread")
        theirs.send(b"last word")
        theirs.close()
        assert ours.receive() == (b"last word", [])
        with pytest.raises(EOFError):
            ours.receive()


def test_sending_to_nobody_is_an_error(framing: str) -> None:
    with connected() as (ours, theirs):
        theirs.close()
        with pytest.raises(ConnectionError):
            ours.send(b"hello")


def test_a_full_channel_says_so_instead_of_waiting(framing: str) -> None:
    with connected() as (ours, theirs):
        sent = arrived = 0
        with contextlib.suppress(BlockingIOError):
            while sent < 100_000:
                ours.send(b"x" * 10)
                sent += 1
        assert 0 < sent < 100_000
        while theirs.receive() is not None:
            arrived += 1
        assert arrived == sent


@pytest.mark.parametrize("kind", [socket.SOCK_SEQPACKET, socket.SOCK_STREAM], ids=["packets", "frames"])
def test_garbage_on_a_channel_is_a_message_or_nothing_or_the_end(
    kind: socket.SocketKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "LINUX", kind == socket.SOCK_SEQPACKET)

    @settings(deadline=None)
    @given(st.lists(st.binary(min_size=1, max_size=100), max_size=5), st.booleans())
    def check(packets: list[bytes], with_descriptor: bool) -> None:
        before = fds(os.getpid())
        ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
        channel = Channel(theirs)
        for packet in packets:
            socket.send_fds(ours, [packet], [0] if with_descriptor else [])
        ours.close()
        try:
            while (message := channel.receive()) is not None:
                for fd in message[1]:
                    os.close(fd)
        except (EOFError, Garbled):
            pass
        channel.close()
        assert fds(os.getpid()) == before

    check()


@pytest.mark.linux  # only packets carry large messages as files
def test_a_large_message_whose_file_cannot_be_read_is_garbled() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel = Channel(theirs)
    read, write = os.pipe()
    socket.send_fds(ours, [b"large"], [read])
    os.close(write)
    try:
        with pytest.raises((Garbled, EOFError)):
            channel.receive()
    finally:
        os.close(read)
        ours.close()
        channel.close()
