"""Messages of the host on a run that has not started yet."""

from __future__ import annotations

from nacre.keeper.protocol.channel import Channel, close_all
from nacre.keeper.protocol.messages import ADOPT, MalformedMessage


class CancelledBeforeStart(Exception):
    """The run was cancelled before it started."""


class PendingStart:
    """A run that is being started."""

    __slots__ = ("_needs_host", "adoption", "control")

    def __init__(self, control: Channel, *, needs_host: bool) -> None:
        """`needs_host`: cancel the run if its host is gone."""
        self.control = control
        self._needs_host = needs_host
        self.adoption: tuple[bytes, list[int]] | None = None
        """Adoption request, to be handled as soon as the run has started."""

    def check(self) -> None:
        """Read messages that have arrived. CancelledBeforeStart: the run was cancelled."""
        try:
            while (message := self.control.receive()) is not None:
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
        """Release the adoption request of a run that did not start."""
        if self.adoption is not None:
            close_all(self.adoption[1])
            self.adoption = None
