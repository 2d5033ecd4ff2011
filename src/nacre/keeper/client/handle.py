"""Interfaces of a run for its caller, whether it is local, remote or never started."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from nacre.keeper.client.events import FinalEvent, OutputChunk, RunEvent
from nacre.result import TaskRef


class RunHandle(Protocol):
    """A requested run. Closing it before its end kills it."""

    @property
    def last_output(self) -> float:
        """Seconds from the start to the last output."""

    @property
    def is_active(self) -> bool:
        """Whether the run has not ended yet."""

    async def next(self) -> RunEvent:
        """Return the next event in order; a `FinalEvent` is the last."""

    def cancel(self) -> None:
        """Kill the run; callable from any thread. The final event follows as usual."""

    def close(self) -> None:
        """Release the run; kill it if it is still active."""

    def detach(self) -> None:
        """Release a task without killing it."""

    def pause(self) -> list[OutputChunk]:
        """Stop reading output; return the chunks that were read but not returned by `next`."""

    def resume(self) -> None: ...


class RemoteEnd(Protocol):
    """The remote end of a run whose local process is only an engine's client program."""

    def translate_end(self, word: FinalEvent) -> FinalEvent:
        """Translate the final event of the local process into that of the remote command."""

    def cancel(self) -> None:
        """Prevent a remote start from now on: the run is about to be killed."""

    def close(self) -> None:
        """Release the remote end; no more events follow."""


@runtime_checkable
class RemoteRun(Protocol):
    """A run that is supervised where it runs: it, or its leftovers, can become a task there."""

    task: TaskRef | None
    """The task that keeps running, known after the final event."""
    notes: tuple[str, ...]
    unenforced_rules: frozenset[str]
    """Restrictions that the remote kernel did not enforce until the run ended."""


class UnstartedRun:
    """A run that was never started: the request failed or was cancelled before."""

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
