"""A rule: a deed by name, how to recognise it, why it is stopped, what to do instead; its examples are its tests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from typing import TypeAlias

from nacre.base.frozen import frozen
from nacre.shell.command import Command, Script
from nacre.shell.paths import absolute
from nacre.verdict import Decision

WRITES = ">"
"""In `Rule.commands`: every command with a redirection that writes."""
RUNS_CODE = "code"
"""In `Rule.commands`: every command that executes a text (`Command.script`) or is one itself (`$(…)`)."""
ANY_SCRIPT = "script"
"""In `Rule.commands`, of rules about a text as a whole: every text."""
NON_ASCII = "odd"
"""… texts with other characters than ASCII."""
GAVE_UP = "unread"
"""… texts that could not be read to their end."""
FORK_BOMBS = "bombs"
"""… texts with functions that start themselves, or with syntax that bash would stumble over."""
DEVICES = "/dev/"
"""… texts that redirect to or from a device."""


class CheckContext:
    """What a rule may know of the world besides the command."""

    def __init__(
        self, cwd: str, home: str, *, mounts: Callable[[], Collection[str]] = tuple, runtimes: tuple[str, ...] = ()
    ) -> None:
        self.cwd = cwd
        self.home = home
        self._find_mounts = mounts
        self.runtimes = runtimes
        """Names of the programs that the agent itself consists of: `python`, `node`."""
        self.cache: dict[object, object] = {}
        """What rules have worked out in this check, for the next rule."""

    @cached_property
    def mounts(self) -> Collection[str]:
        """Where filesystems are mounted; asked only if a rule wants to know."""
        return self._find_mounts()


class Hit:
    """A rule applies. What is not given here is as the rule says for all its hits."""

    __slots__ = ("exact_message", "instead", "mandatory", "paths", "reason", "words")

    def __init__(
        self, words: str = "", reason: str = "", instead: str = "", *, floor: bool = False, wording: str = ""
    ) -> None:
        self.words = words
        self.reason = reason
        self.instead = instead
        self.exact_message = wording
        self.mandatory = floor
        """No policy lifts it: the root or a home would be lost."""
        self.paths: tuple[str, ...] = ()
        """All the places that it is about; none given: the working directory."""


def hit_at(found: Iterable[tuple[str, Hit]], command: Command) -> Hit | None:
    """One hit for several places: the first, which knows of the others."""
    hits = list(found)
    if not hits:
        return None
    first = hits[0][1]
    first.paths = tuple(absolute(target, command.cwd) for target, _ in hits)
    return first


MatchCommand: TypeAlias = Callable[[Command, CheckContext], Hit | None]
MatchScript: TypeAlias = Callable[[Script, CheckContext], "tuple[int, int, Hit] | None"]


@frozen(kw_only=True)
class Rule:
    """What is stopped, and why."""

    id: str
    decision: Decision
    reason: str
    """What the words do: follows them in a sentence ("`rm -rf /` would delete …")."""
    instead: str
    """One thing to do instead."""
    commands: tuple[str, ...] = ()
    """Names of the commands it looks at. A rule of the caller's that names none looks at every one."""
    match: MatchCommand | None = None
    match_script: MatchScript | None = None
    """For rules about a text as a whole."""
    mandatory: bool = False
    """No exception lifts it."""
    optional: bool = False
    """Off unless a policy names it."""
    exact_message: str = ""
    """What is said of a hit, word for word, instead of the words found and the reason."""
    hits: tuple[str, ...] = ()
    passes: tuple[str, ...] = ()
