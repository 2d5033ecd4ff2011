"""Read the keeper's messages on a run, on the event loop."""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable, Sequence

from nacre.keeper.protocol.channel import Channel
from nacre.keeper.protocol.replies import Reply, parse_reply

_CLOSED_DELAY_S = 0.02


class ReplyReader:
    """The host's end of a run's channel. `on_reply` gets each message with its file descriptors; `on_closed` is called
    a moment after the keeper has closed the channel."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        on_reply: Callable[[Reply, list[int]], None],
        on_closed: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._on_reply = on_reply
        self._on_closed = on_closed
        self._channel: Channel | None = None
        self._is_reading = False

    def open(self, channel: Channel) -> None:
        """Close the current channel and read from this one."""
        if self._channel is not None:
            self._channel.close()
        self._channel = channel
        self._is_reading = False
        self.start()

    def start(self) -> None:
        assert self._channel is not None
        if not self._is_reading:
            self._is_reading = True
            self._loop.add_reader(self._channel.fileno(), self.read)

    def stop(self) -> None:
        assert self._channel is not None
        self._is_reading = False
        self._loop.remove_reader(self._channel.fileno())

    def read(self) -> None:
        """Read all messages that are there, unless stopped."""
        assert self._channel is not None
        try:
            while self._is_reading and (message := self._channel.receive()) is not None:
                self._on_reply(parse_reply(message[0]), message[1])
        except EOFError:
            self.stop()
            # A dying keeper closes its descriptors one after another: look at it when all are closed.
            self._loop.call_later(_CLOSED_DELAY_S, self._on_closed)

    def send(self, message: bytes, fds: Sequence[int] = ()) -> bool:
        """Send a message to the keeper. Returns False if that is gone."""
        assert self._channel is not None
        try:
            self._channel.send(message, fds)
        except OSError:
            return False
        return True

    def close(self, *, forked: bool = False) -> None:
        """Close the channel. `forked`: this is a forked copy, which shares its epoll object with the parent's event
        loop."""
        if self._channel is not None:
            if not forked and not self._loop.is_closed():
                self.stop()
            self._channel.close()
