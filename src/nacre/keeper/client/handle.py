"""What a run is to whoever waits for it: here, on another machine, or never begun at all."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from nacre.keeper.client.events import Happening, LastWord, Printed
from nacre.result import TaskRef


class Live(Protocol):
    """A run that was asked for. Closing it in mid-run is all it takes to cancel."""

    @property
    def last_output(self) -> float:
        """Seconds from its start to the last that it printed."""

    @property
    def listening(self) -> bool:
        """No last word has been heard yet."""

    async def next(self) -> Happening:
        """What happens, in its order; a `LastWord` is the last."""

    def cancel(self) -> None:
        """From any thread; the end arrives as usual."""

    def close(self) -> None:
        """Let go. If it still runs, it is ended."""

    def let_go(self) -> None:
        """Of a task: it needs nobody."""

    def pause(self) -> list[Printed]:
        """Read no more; gives what was read and not taken yet."""

    def resume(self) -> None: ...


class Beyond(Protocol):
    """The far end of a run whose process here is only an engine's client."""

    def conclude(self, word: LastWord) -> LastWord:
        """What its last word means, there."""

    def cancel(self) -> None:
        """It is about to be ended: what has not begun there must not, from now on."""

    def close(self) -> None:
        """Nothing more is heard of it."""


@runtime_checkable
class Elsewhere(Protocol):
    """A run that is looked after where it is: it goes on as a task there, by itself, and so does what it leaves."""

    task: TaskRef | None
    """What goes on, when its last word has been heard."""
    remarks: tuple[str, ...]
    unheld: frozenset[str]
    """Rules that the kernel there has not enforced to the end."""


class Stillborn:
    """A run that never was: it could not even be asked for, or was called off before."""

    last_output = 0.0
    listening = False

    def __init__(self, word: LastWord) -> None:
        self._word = word

    async def next(self) -> LastWord:
        return self._word

    def cancel(self) -> None: ...

    def close(self) -> None: ...

    def let_go(self) -> None: ...

    def pause(self) -> list[Printed]:
        return []

    def resume(self) -> None: ...
