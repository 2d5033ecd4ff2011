"""What is known at one point of a script: variables, directory, functions, files that were just written."""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache

from nacre.patterns import later
from nacre.shell.many import Value, either
from nacre.shell.syntax import Function
from nacre.shell.text import SOME, STAR, UNKNOWN

KEYED = "\0"

_KNOWN = frozenset(("PWD", "OLDPWD", "IFS", "USER", "LOGNAME", "PPID"))
"""Variables that have a value of the shell's own until they are set."""
_LONGEST = 4096
"""Characters of a path; the system takes no more."""
_UNTIDY = later(r"(?:^|/)\.{0,2}(?:/|$)")
"""Absolute, or with `.`, `..`, `//` or a `/` at its end."""


class Alias:
    """A word that stands for a text, on the lines after its definition."""

    __slots__ = ("depth", "end", "text")

    def __init__(self, text: str, end: int, depth: int) -> None:
        self.text = text
        self.end = end
        self.depth = depth


class Variables:
    """Names with all the values they may have here: a scope on top of another, cheap to open however much is below."""

    __slots__ = ("_below", "own")

    def __init__(self, below: Variables | None = None) -> None:
        self._below = below
        self.own: dict[str, list[Value] | None] = {}
        """What was set in this scope; None for what was unset."""

    def get(self, name: str) -> list[Value] | None:
        scope: Variables | None = self
        while scope is not None:
            if name in scope.own:
                return scope.own[name]
            scope = scope._below
        return None

    def of(self, name: str) -> list[Value]:
        return self.get(name) or []

    def __setitem__(self, name: str, values: list[Value]) -> None:
        self.own[name] = values


class Files(dict[str, str]):
    """Files of known content, by their paths. `hooks`: those among them that git runs. `settings`: what it was told."""

    def __init__(self) -> None:
        self.hooks: dict[str, str] = {}
        self.settings: dict[str, str] = {}

    def __setitem__(self, path: str, text: str) -> None:
        super().__setitem__(path, text)
        if "/.git/hooks/" in path:
            self.hooks[path] = text
        elif path.startswith(("/dev/git-config/alias.", "/dev/git-config/remote.")):
            self.settings[path] = text


class State:
    __slots__ = (
        "aliases", "arguments", "cwd", "expands_aliases", "exported", "functions", "given", "home", "input", "integers",
        "loops", "maps", "nounset", "references", "settled", "strict", "unsure", "variables", "written", "zero",
    )  # fmt: skip

    def __init__(self, cwd: str, home: str, variables: Variables) -> None:
        self.cwd = cwd
        self.settled = True
        """The last `cd` has surely worked."""
        self.strict = False
        """`set -e`: what fails ends the script."""
        self.nounset = False
        """`set -u`: so does a variable that nobody has set."""
        self.home = home
        self.variables = variables
        self.maps: frozenset[str] = frozenset()
        """Associative arrays: their subscripts are texts, those of others are arithmetic."""
        self.integers: frozenset[str] = frozenset()
        """Variables whose values are arithmetic (`declare -i`)."""
        self.references: dict[str, str] = {}
        """Other names of variables (`declare -n`)."""
        self.loops: frozenset[str] = frozenset()
        """Variables that take one value after another."""
        self.arguments: list[str] | None = None
        self.given: frozenset[str] = frozenset()
        """Numbers of arguments that were shown not to be empty."""
        self.zero = "bash"
        self.functions: dict[str, Function] = {}
        """Never changed in place, nor are the aliases: scopes share them."""
        self.unsure: frozenset[str] = frozenset()
        """Functions that may not be there, or be others: defined on a condition."""
        self.exported: frozenset[str] = frozenset()
        """Functions that child shells inherit."""
        self.aliases: dict[str, Alias] = {}
        self.expands_aliases = False
        self.input: str | None = None
        """What `exec <…` has just made the standard input."""
        self.written = Files()
        """Just written, or a process substitution."""

    def fork(self) -> State:
        copy = State.__new__(State)  # every field is set here, and this is done for each stage of a pipe
        copy.cwd, copy.home, copy.variables = self.cwd, self.home, Variables(self.variables)
        copy.settled, copy.strict, copy.nounset = self.settled, self.strict, self.nounset
        copy.maps, copy.integers, copy.references = self.maps, self.integers, self.references
        copy.loops = self.loops
        copy.arguments, copy.given, copy.zero = self.arguments, self.given, self.zero
        copy.functions, copy.unsure, copy.exported = self.functions, self.unsure, self.exported
        copy.aliases, copy.input = self.aliases, None
        copy.expands_aliases = self.expands_aliases
        copy.written = self.written  # files are there for everybody
        return copy

    def join(self, other: State) -> None:
        """It may also have gone that way."""
        for name, values in other.variables.own.items():
            mine = self.variables.get(name)
            if mine is None or values is None:
                self.variables[name] = values or mine or []
            elif mine is not values:
                self.variables[name] = either(mine, values)
        if other.functions is not self.functions:
            before, self.functions = self.functions, {**self.functions, **other.functions}
            self.doubt(before)
            self.doubt(other.functions)
        if other.aliases is not self.aliases:
            self.aliases = {**self.aliases, **other.aliases}

    def doubt(self, functions: dict[str, Function]) -> None:
        """It may also be that these are the functions."""
        found = {name for name, body in self.functions.items() if functions.get(name) is not body}
        self.unsure = self.unsure | found if found else self.unsure

    def choose(self, names: Set[str] | None = None) -> None:
        """On a condition: of what a loop goes through, no longer all."""
        names = names or self.loops
        for name in names:
            values = self.variables.of(name)
            if any(STAR in value for value in values):
                self.variables[name] = [v.replace(STAR, SOME) if isinstance(v, str) else v for v in values]
        self.loops -= names

    def set(self, name: str, value: Value) -> None:
        self.variables[name] = [value]

    def require(self, name: str) -> None:
        """From here on it is not empty: whatever it may be, it is something."""
        if name.isdigit():
            self.given |= {name}
        if not name.isidentifier() or name in _KNOWN:
            return
        values = self.variables.of(name)
        if not values or any(value in ("", UNKNOWN) for value in values):
            self.variables[name] = [SOME if value in ("", UNKNOWN) else value for value in values] or [SOME]

    def forget(self, name: str) -> None:
        self.variables.own[name] = None

    @property
    def user(self) -> str:
        """As a rule, the home is called as its owner is."""
        return self.home.rpartition("/")[2] or SOME

    def path(self, name: str) -> str:
        return absolute(name, self.cwd)


def absolute(name: str, cwd: str) -> str:
    """A path, normalised without looking: `..` and `.` taken out."""
    return _absolute(name, cwd) if len(name) < _LONGEST else _normalised(name, cwd)


@lru_cache(512)  # several rules ask in turn about the same path
def _absolute(name: str, cwd: str) -> str:
    if name and not _UNTIDY.search(name) and cwd[:1] == "/" and cwd[-1] != "/" and len(cwd) + len(name) < _LONGEST:
        return f"{cwd}/{name}"
    return _normalised(name, cwd)


def _normalised(name: str, cwd: str) -> str:
    if not name.startswith("/"):
        name = f"{cwd or SOME}/{name}"
    parts: list[str] = []
    for part in name.split("/"):
        if part == "..":
            if parts and parts[-1] != SOME:
                parts.pop()
        elif part and part != ".":
            parts.append(part)
    path = ("/" if name.startswith("/") else "") + "/".join(parts)
    return path if len(path) <= _LONGEST else f"/{SOME}"
