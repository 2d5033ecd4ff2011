"""What the host says of a run before that has begun."""

from __future__ import annotations

from nacre.keeper.protocol.channel import Channel, close_all
from nacre.keeper.protocol.messages import ADOPT, Garbled


class CalledOff(Exception):
    """It is not to begin."""


class Early:
    __slots__ = ("_control", "_waited_for", "adoption")

    def __init__(self, control: Channel, *, waited_for: bool) -> None:
        """`waited_for`: it is for nobody if its host is gone."""
        self._control = control
        self._waited_for = waited_for
        self.adoption: tuple[bytes, list[int]] | None = None
        """It is to become a task as soon as it has begun."""

    def check(self) -> None:
        """CalledOff: by now it has been."""
        try:
            while (message := self._control.receive()) is not None:
                if not message[0].startswith(ADOPT) or self.adoption is not None:
                    close_all(message[1])
                    raise CalledOff
                self.adoption = message
        except Garbled:
            raise CalledOff from None
        except EOFError:
            if self._waited_for:
                raise CalledOff from None

    def forget(self) -> None:
        """It came to nothing."""
        if self.adoption is not None:
            close_all(self.adoption[1])
            self.adoption = None
