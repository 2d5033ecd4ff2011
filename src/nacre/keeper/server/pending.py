"""What the host says of a run before that has begun."""

from __future__ import annotations

from nacre.keeper.protocol.channel import Channel, close_all
from nacre.keeper.protocol.messages import ADOPT, MalformedMessage


class CancelledBeforeStart(Exception):
    """It is not to begin."""


class PendingStart:
    __slots__ = ("_control", "_needs_host", "adoption")

    def __init__(self, control: Channel, *, waited_for: bool) -> None:
        """`waited_for`: it is for nobody if its host is gone."""
        self._control = control
        self._needs_host = waited_for
        self.adoption: tuple[bytes, list[int]] | None = None
        """It is to become a task as soon as it has begun."""

    def check(self) -> None:
        """CalledOff: by now it has been."""
        try:
            while (message := self._control.receive()) is not None:
                if not message[0].startswith(ADOPT) or self.adoption is not None:
                    close_all(message[1])
                    raise CancelledBeforeStart
                self.adoption = message
        except MalformedMessage:
            raise CancelledBeforeStart from None
        except EOFError:
            if self._needs_host:
                raise CancelledBeforeStart from None

    def forget(self) -> None:
        """It came to nothing."""
        if self.adoption is not None:
            close_all(self.adoption[1])
            self.adoption = None
