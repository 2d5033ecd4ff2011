"""What an adapter offers. Runs in the peer's environment: stdlib only.

An adapter is a module `bench/peers/adapters/NAME.py` (`swe_rex.py` is shown as `swe-rex`) with the names of `Adapter`.
Its docstring goes into the page as it is: which class or tool of the peer is driven, why that one (what an agent of
theirs really calls), what was set differently from its defaults, what surprises.

PACKAGES, PYTHON, TIMEOUT and SESSION are plain literals: they are read without importing the module.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol


@dataclass(frozen=True)
class Answer:
    """What came of one command."""

    text: str
    """What the model would be told, all of it and nothing else. Where a timeout is an exception: its message."""
    exit: int | None
    """As far as the peer tells it, in the text or beside it."""
    ended: Literal["exit", "timeout", "running", "refused", "unknown"] = "exit"
    """`timeout`: the peer says so. `running`: it goes on by design, and the answer says how to get at it. `unknown`:
    the peer does not say how it ended."""


class Shell(Protocol):
    """One tool object, as an agent holds it for a conversation."""

    async def run(self, command: str, timeout: float) -> Answer:
        """One call by a model. `timeout` is the peer's own (whole seconds are asked for), if it has one.

        A peer that blocks is called with `asyncio.to_thread`; there are threads enough. Whatever it raises beyond a
        timeout is let through: that is a result, too. Cancelling is cancelling the task that awaits this.
        """
        ...

    async def close(self) -> None:
        """Whatever the peer has for the end of a conversation; nothing, if it has nothing."""
        ...


class Adapter(Protocol):
    """The module."""

    PACKAGES: list[str]
    """What pip installs, pinned: `["swe-rex==1.4.0"]`. The first one is the peer, and its version is shown."""
    PYTHON: str
    """The lowest version of Python that it needs: `"3.11"`."""
    TIMEOUT: Literal["own"] | None
    """None: the peer has no timeout, and `run` cannot keep to one."""
    SESSION: bool
    """One object is one shell that keeps its state: it takes one command at a time by design, and whoever wants a
    hundred at once opens a hundred."""

    async def open_shell(self, directory: Path) -> Shell:
        """A tool object that works in `directory`."""
        ...
