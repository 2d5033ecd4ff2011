"""Channels: messages arrive whole, in order, with their descriptors, and the reader survives any input."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.keeper.protocol import channel as channels
from nacre.keeper.protocol.channel import Channel
from nacre.keeper.protocol.messages import MalformedMessage
from tests.support.census import fds
from tests.support.descriptors import few_descriptors, no_descriptor_left


@pytest.fixture(params=["packets", "frames"])
def framing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "packets" and os.environ.get("NACRE_PORTABLE"):
        pytest.skip("packets are switched off")
    monkeypatch.setattr(channels, "LINUX", request.param == "packets")
    return str(request.param)


@contextlib.contextmanager
def open_channels() -> Iterator[tuple[Channel, Channel]]:
    ours, theirs = Channel.pair()
    other = Channel(theirs)
    try:
        yield ours, other
    finally:
        ours.close()
        other.close()


def test_messages_arrive_in_order_and_separately(framing: str) -> None:
    with open_channels() as (ours, theirs):
        messages = [b"one", b"two\0fields", b"x" * 60_000, b"\xff" * 10]
        for message in messages:
            ours.send(message)
        assert [theirs.receive() for _ in messages] == [(message, []) for message in messages]
        assert theirs.receive() is None


def test_message_of_a_megabyte_arrives_whole(framing: str) -> None:
    large = bytes(range(256)) * 4000
    with open_channels() as (ours, theirs):
        if framing == "frames":  # a stream socket holds less than that: a thread has to read meanwhile
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


def test_fds_arrive_with_their_message_and_are_not_inheritable(framing: str) -> None:
    before = fds(os.getpid())
    with open_channels() as (ours, theirs):
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


def test_reserved_fds_can_be_received_when_no_other_fd_is_free(framing: str) -> None:
    before = fds(os.getpid())
    read, write = os.pipe()
    with open_channels() as (ours, theirs), few_descriptors(os.getpid(), 400):
        theirs.reserve(2)
        ours.send(b"first")
        ours.send(b"second", [read, write])
        with no_descriptor_left():
            first, second = theirs.receive(), theirs.receive()
        assert first == (b"first", [])
        assert second is not None
        message, received = second
        assert (message, len(received)) == (b"second", 2)
        for fd in received:
            os.close(fd)
    os.close(read)
    os.close(write)
    assert fds(os.getpid()) == before


def test_closing_a_channel_releases_its_reserved_fds(framing: str) -> None:
    before = fds(os.getpid())
    with open_channels() as (ours, theirs):
        theirs.reserve(2)
        theirs.close()
        with pytest.raises(ConnectionError):
            ours.send(b"hello")
    assert fds(os.getpid()) == before


def test_eof_comes_after_the_last_message(framing: str) -> None:
    with open_channels() as (ours, theirs):
        ours.send(b"last")
        ours.close()
        assert theirs.receive() == (b"last", [])
        with pytest.raises(EOFError):
            theirs.receive()


def test_message_sent_before_close_arrives_despite_unread_input(framing: str) -> None:
    with open_channels() as (ours, theirs):
        ours.send(b"unread")
        theirs.send(b"last word")
        theirs.close()
        assert ours.receive() == (b"last word", [])
        with pytest.raises(EOFError):
            ours.receive()


def test_sending_to_a_closed_channel_raises(framing: str) -> None:
    with open_channels() as (ours, theirs):
        theirs.close()
        with pytest.raises(ConnectionError):
            ours.send(b"hello")


def test_full_channel_raises_instead_of_blocking(framing: str) -> None:
    with open_channels() as (ours, theirs):
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
def test_garbage_on_a_channel_leaks_no_fd_and_raises_only_known_errors(
    kind: socket.SocketKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels, "LINUX", kind == socket.SOCK_SEQPACKET)

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
        except (EOFError, MalformedMessage):
            pass
        channel.close()
        assert fds(os.getpid()) == before

    check()


@pytest.mark.linux  # only packet sockets carry large messages as files
def test_large_message_whose_file_cannot_be_read_is_malformed() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel = Channel(theirs)
    read, write = os.pipe()
    socket.send_fds(ours, [b"large"], [read])
    os.close(write)
    try:
        with pytest.raises((MalformedMessage, EOFError)):
            channel.receive()
    finally:
        os.close(read)
        ours.close()
        channel.close()
