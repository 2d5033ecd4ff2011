"""The interface of an adapter. Runs in the peer's environment: stdlib only.

An adapter is a module `bench/peers/adapters/NAME.py` (`swe_rex.py` is shown as `swe-rex`) with the names of `Adapter`.
Its docstring is copied to the page: which class or tool of the peer is driven, why that one (because an agent of theirs
calls it), which settings differ from its defaults, what is surprising.

PACKAGES, PYTHON, TIMEOUT and SESSION are plain literals: they are read without importing the module.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol


@dataclass(frozen=True)
class Answer:
    """The result of one command."""

    text: str
    """The complete text that the model would get. If a timeout is an exception: its message."""
    exit: int | None
    """Exit status, if the peer reports it in the text or separately."""
    ended: Literal["exit", "timeout", "running", "refused", "unknown"] = "exit"
    """`timeout`: reported by the peer. `running`: it keeps running by design, and the answer says how to access it.
    `unknown`: the peer does not report how it ended."""


class Shell(Protocol):
    """One tool object, as an agent holds it for a conversation."""

    async def run(self, command: str, timeout: float) -> Answer:
        """Make one call, as a model does. `timeout` is the peer's own (in whole seconds), if it has one.

        A blocking peer is called with `asyncio.to_thread`; there are enough threads. Exceptions other than a timeout
        are not caught: they are a result, too. To cancel means to cancel the asyncio task that awaits this.
        """
        ...

    async def close(self) -> None:
        """Do what the peer offers for the end of a conversation; nothing if it offers nothing."""
        ...


class Adapter(Protocol):
    """The interface of the module."""

    PACKAGES: list[str]
    """Packages that pip installs, pinned: `["swe-rex==1.4.0"]`. The first one is the peer, and its version is shown."""
    PYTHON: str
    """Minimum Python version: `"3.11"`."""
    TIMEOUT: Literal["own"] | None
    """None: the peer has no timeout, so `run` ignores it."""
    SESSION: bool
    """True if one object is one shell that keeps its state: it runs one command at a time by design, and a hundred
    concurrent commands need a hundred objects."""

    async def open_shell(self, directory: Path) -> Shell:
        """Return a tool object that works in `directory`."""
        ...
