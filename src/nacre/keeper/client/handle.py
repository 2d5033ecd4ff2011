"""What a run is to whoever waits for it: here, on another machine, or never begun at all."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from nacre.keeper.client.events import FinalEvent, OutputChunk, RunEvent
from nacre.result import TaskRef


class RunHandle(Protocol):
    """A run that was asked for. Closing it in mid-run is all it takes to cancel."""

    @property
    def last_output(self) -> float:
        """Seconds from its start to the last that it printed."""

    @property
    def is_active(self) -> bool:
        """No last word has been heard yet."""

    async def next(self) -> RunEvent:
        """Return the next event in order; a `FinalEvent` is the last."""

    def cancel(self) -> None:
        """From any thread; the end arrives as usual."""

    def close(self) -> None:
        """Let go. If it still runs, it is ended."""

    def detach(self) -> None:
        """Of a task: it needs nobody."""

    def pause(self) -> list[OutputChunk]:
        """Read no more; gives what was read and not taken yet."""

    def resume(self) -> None: ...


class RemoteEnd(Protocol):
    """The far end of a run whose process here is only an engine's client."""

    def translate_end(self, word: FinalEvent) -> FinalEvent:
        """What its last word means, there."""

    def cancel(self) -> None:
        """It is about to be ended: what has not begun there must not, from now on."""

    def close(self) -> None:
        """Nothing more is heard of it."""


@runtime_checkable
class RemoteRun(Protocol):
    """A run that is looked after where it is: it goes on as a task there, by itself, and so does what it leaves."""

    task: TaskRef | None
    """What goes on, when its last word has been heard."""
    notes: tuple[str, ...]
    unenforced_rules: frozenset[str]
    """Rules that the kernel there has not enforced to the end."""


class UnstartedRun:
    """A run that never was: it could not even be asked for, or was called off before."""

    last_output = 0.0
    is_active = False

    def __init__(self, word: FinalEvent) -> None:
        self._final_event = word

    async def next(self) -> FinalEvent:
        return self._final_event

    def cancel(self) -> None: ...

    def close(self) -> None: ...

    def detach(self) -> None: ...

    def pause(self) -> list[OutputChunk]:
        return []

    def resume(self) -> None: ...
