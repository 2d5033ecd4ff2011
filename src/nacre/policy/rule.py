"""The type of a rule: a matcher of an action, the reason to stop it, an alternative, and examples, which are tests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from typing import TypeAlias

from nacre.base.frozen import frozen
from nacre.shell.command import Command, Script
from nacre.shell.paths import absolute
from nacre.verdict import Decision

WRITES = ">"
"""In `Rule.commands`: every command with an output redirection."""
RUNS_CODE = "code"
"""In `Rule.commands`: every command that executes code (`Command.script`) or whose name is generated (`$(…)`)."""
ANY_SCRIPT = "script"
"""In `Rule.commands` of a rule on whole scripts: every script."""
NON_ASCII = "odd"
"""In `Rule.commands` of a rule on whole scripts: scripts with characters other than ASCII."""
GAVE_UP = "unread"
"""In `Rule.commands` of a rule on whole scripts: scripts that could not be parsed completely."""
FORK_BOMBS = "bombs"
"""In `Rule.commands` of a rule on whole scripts: those with functions that start themselves, or with syntax errors."""
DEVICES = "/dev/"
"""In `Rule.commands` of a rule on whole scripts: scripts that redirect to or from a device."""


class CheckContext:
    """Facts about the environment of a command that rules may use."""

    def __init__(
        self,
        cwd: str,
        home: str,
        *,
        find_mount_points: Callable[[], Collection[str]] = tuple,
        own_runtime_names: tuple[str, ...] = (),
    ) -> None:
        self.cwd = cwd
        self.home = home
        self._find_mount_points = find_mount_points
        self.own_runtime_names = own_runtime_names
        """Names of the programs that run the agent itself: `python`, `node`."""
        self.cache: dict[object, object] = {}
        """Results that rules share during this check."""

    @cached_property
    def mount_points(self) -> Collection[str]:
        """Mount points; read only if a rule needs them."""
        return self._find_mount_points()


class Hit:
    """A match of a rule. Values not given here are those of the rule."""

    __slots__ = ("exact_message", "instead", "mandatory", "paths", "reason", "words")

    def __init__(
        self, words: str = "", reason: str = "", instead: str = "", *, mandatory: bool = False, exact_message: str = ""
    ) -> None:
        self.words = words
        self.reason = reason
        self.instead = instead
        self.exact_message = exact_message
        self.mandatory = mandatory
        """No policy lifts it: the root or a home would be lost."""
        self.paths: tuple[str, ...] = ()
        """All paths that the hit is about; empty: the working directory."""


def hit_at(found: Iterable[tuple[str, Hit]], command: Command) -> Hit | None:
    """Return one hit for several places: the first hit, with the paths of all."""
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
    """A rule: what it stops, and why."""

    id: str
    decision: Decision
    reason: str
    """Effect of the command, as the rest of a sentence ("`rm -rf /` would delete …")."""
    instead: str
    """An alternative to suggest."""
    commands: tuple[str, ...] = ()
    """Names of the commands that it checks. A custom rule without names checks every command."""
    match: MatchCommand | None = None
    match_script: MatchScript | None = None
    """Matcher for rules on whole scripts."""
    mandatory: bool = False
    """No policy or exemption lifts it."""
    optional: bool = False
    """Off unless a policy names it."""
    exact_message: str = ""
    """The exact message for a hit, instead of one made of the words found and the reason."""
    hits: tuple[str, ...] = ()
    passes: tuple[str, ...] = ()
