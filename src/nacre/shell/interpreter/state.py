"""What is known at one point of a script: variables, directory, functions, files that were just written."""

from __future__ import annotations

from collections.abc import Callable, Set
from functools import lru_cache
from posixpath import commonpath

from nacre.base.lazy_regex import later
from nacre.shell.interpreter.files import Files
from nacre.shell.symbolic import BELOW, SOME, STAR, UNKNOWN
from nacre.shell.syntax.nodes import Function
from nacre.shell.values.merge import any_of, differing, distinct, effort, gathered
from nacre.shell.values.positional import Lists, chosen, together
from nacre.shell.values.positional import effort as listed_effort
from nacre.shell.values.values import Value, either

_KNOWN = frozenset(("PWD", "OLDPWD", "IFS", "USER", "LOGNAME", "PPID"))
"""Variables that have a value of the shell's own until they are set."""
TABLES = frozenset(("BASH_ALIASES", "BASH_CMDS", "BASHOPTS", "SHELLOPTS", "POSIXLY_CORRECT"))
"""Variables that decide what a word is as a command: aliases, what `hash` remembers, whether aliases are expanded."""
_EXPANDING = frozenset(("BASHOPTS", "SHELLOPTS", "POSIXLY_CORRECT"))
ENTRY = 8
"""What it counts as, in characters, to look at one function or name; `_ANEW`: to make an alias or a reference anew."""
_ANEW = 16
_LONGEST = 4096
"""Characters of a path; the system takes no more."""
_UNTIDY = later(r"(?:^|/)\.{0,2}(?:/|$)")
"""Absolute, or with `.`, `..`, `//` or a `/` at its end."""


class Alias:
    """A word that stands for a text, on the lines after its definition; perhaps, if not `sure`."""

    __slots__ = ("before", "depth", "end", "sure", "text")

    def __init__(self, text: str, end: int, depth: int, *, sure: bool = True, before: Alias | None = None) -> None:
        self.text = text
        self.end = end
        self.depth = depth
        self.sure = sure
        self.before = before
        """What it stood for up to the end of this line."""


class Variables:
    """Names with all the values they may have here: a scope on top of another, cheap to open however much is below."""

    __slots__ = ("_below", "_passed", "own", "tables")

    def __init__(self, below: Variables | None = None, passed: frozenset[str] | None = None) -> None:
        """`passed`: another process begins here, and gets no others from below."""
        self._below = below
        self._passed = passed
        self.own: dict[str, list[Value] | None] = {}
        """What was set in this scope; None for what was unset."""
        self.tables: set[str] = set() if below is None else below.tables
        """Those of `TABLES` that were ever set, in whatever scope."""

    def get(self, name: str) -> list[Value] | None:
        scope: Variables | None = self
        kept, passed = True, False
        while scope is not None:
            if name in scope.own:
                values = scope.own[name]
                if values and passed:
                    texts: list[Value] = [
                        each for each in values if isinstance(each, str)
                    ]  # an array is never passed on
                    return texts if kept and len(texts) == len(values) else either(texts, [UNKNOWN])
                return values
            if scope._passed is not None:
                kept, passed = kept and name in scope._passed, True
            scope = scope._below
        return None

    def of(self, name: str) -> list[Value]:
        return self.get(name) or []

    def __setitem__(self, name: str, values: list[Value]) -> None:
        self.own[name] = values
        if name in TABLES:
            self.tables.add(name)

    def join(self, *ways: Variables, stays: bool) -> int:
        """The script has gone one of these ways from here; or, with `stays`, none of them. Gives what it counts as, in
        characters, to put together what the names may be now."""
        spent = 0
        if len({id(way._below) for way in ways}) == 1 and (below := ways[0]._below):
            found = gathered([way.own for way in ways], below.get)
        else:  # two of them, at the most
            names = dict.fromkeys(name for way in ways for name in way.own)
            found = ((name, [way.get(name) for way in ways]) for name in names)
        for name, values in found:
            if stays:
                values.append(self.get(name))
            self.own[name] = any_of(values)
            spent += effort(values)
        return spent

    def known(self) -> dict[str, list[Value] | None]:
        """All of them, as they are here."""
        scopes, scope = [], self
        while scope._below is not None:
            scopes.append(scope)
            scope = scope._below
        found = dict(scope.own)
        for each in reversed(scopes):
            found.update(each.own)
        return found


class State:
    __slots__ = (
        "aliases", "arguments", "cases", "cwd", "expands_aliases", "exported", "found", "functions", "given",
        "home", "input", "integers", "last_in_place", "locals", "loops", "maps", "moves", "nounset", "passed",
        "passes_all", "references", "settled", "strict", "unsure", "variables", "written", "zero",
    )  # fmt: skip

    def __init__(self, cwd: str, home: str, variables: Variables) -> None:
        self.cwd = cwd
        self.settled = True
        """The last `cd` has surely worked."""
        self.moves = 0
        """How many there were."""
        self.strict = False
        """`set -e`: what fails ends the script."""
        self.nounset = False
        """`set -u`: so does a variable that nobody has set."""
        self.home = home
        self.variables = variables
        self.maps: frozenset[str] = frozenset(("BASH_ALIASES", "BASH_CMDS"))
        """Associative arrays: their subscripts are texts, those of others are arithmetic."""
        self.integers: frozenset[str] = frozenset()
        """Variables whose values are arithmetic (`declare -i`)."""
        self.cases: dict[str, Callable[[str], str]] = {}
        """What becomes of the letters of a variable (`declare -u`)."""
        self.references: dict[str, str] = {}
        """Other names of variables (`declare -n`)."""
        self.locals: dict[str, list[Value] | None] | None = None
        """In a function: what its own variables were outside of it."""
        self.loops: frozenset[str] = frozenset()
        """Variables that take one value after another."""
        self.found = False
        """All that was found somewhere is being gone through."""
        self.arguments: Lists = ()
        """What `"$@"` may be."""
        self.given: frozenset[str] = frozenset()
        """Numbers of arguments that were shown not to be empty."""
        self.zero = "bash"
        self.functions: dict[str, Function] = {}
        """Never changed in place, nor are the aliases: scopes share them."""
        self.unsure: frozenset[str] = frozenset()
        """Functions that may not be there, or be others: defined on a condition."""
        self.exported: frozenset[str] = frozenset()
        """Functions that child shells inherit."""
        self.passed: frozenset[str] = frozenset()
        """Variables that they do. Any other may be in the environment as well: nobody knows all of that."""
        self.passes_all = False
        """`set -a`: whatever is assigned from now on."""
        self.aliases: dict[str, Alias] = {}
        self.expands_aliases: bool | None = False
        """None: perhaps."""
        self.last_in_place = False
        """`shopt -s lastpipe`: the last stage of a pipe is run by this shell itself."""
        self.input: str | None = None
        """What `exec <…` has just made the standard input."""
        self.written = Files()
        """Just written, or a process substitution."""

    def fork(self) -> State:
        copy = State.__new__(State)  # every field is set here, and this is done for each stage of a pipe
        copy.cwd, copy.home, copy.variables = self.cwd, self.home, Variables(self.variables)
        copy.settled, copy.moves, copy.strict, copy.nounset = self.settled, self.moves, self.strict, self.nounset
        copy.maps, copy.integers, copy.cases, copy.references = self.maps, self.integers, self.cases, self.references
        copy.loops, copy.found = self.loops, self.found
        copy.locals = None if self.locals is None else {}
        copy.arguments, copy.given, copy.zero = self.arguments, self.given, self.zero
        copy.functions, copy.unsure, copy.exported = self.functions, self.unsure, self.exported
        copy.passed, copy.passes_all = self.passed, self.passes_all
        copy.aliases, copy.input = self.aliases, None
        copy.expands_aliases, copy.last_in_place = self.expands_aliases, self.last_in_place
        copy.written = self.written  # files are there for everybody
        return copy

    def child(self) -> State:
        """For a text that another process reads: what was not exported is not known there."""
        copy = self.fork()
        passed = frozenset(self.variables.known()) if self.passes_all else self.passed
        copy.variables = Variables(self.variables, passed)
        copy.variables.own["IFS"] = None
        copy.passes_all = False
        return copy

    def join(self, *ways: State, stays: bool = True) -> int:
        """It has gone one of these ways; or, with `stays`, none of them. Gives what it counts as, in characters, to put
        them together."""
        spent = self.variables.join(*(way.variables for way in ways), stays=stays)
        here = (self, *ways) if stays else ways
        defined = distinct([way.functions for way in here])
        if len(defined) > 1 or defined[0] is not self.functions:
            self.functions, other = differing(defined)
            self.unsure = self.unsure.union(other, *distinct([way.unsure for way in ways]))
            spent += ENTRY * sum(map(len, defined))
        spent += self.doubt_aliases(*(way.aliases for way in ways))
        if any(way.expands_aliases is not self.expands_aliases for way in ways):
            self.expands_aliases = None
        spent += self.doubt_references(*(way.references for way in ways))
        self.strict, self.nounset = all(way.strict for way in here), all(way.nounset for way in here)
        passed = distinct([way.passed for way in here])
        self.passed = passed[0].intersection(*passed[1:])
        spent += sum(map(len, passed[1:]))
        spent += self.join_arguments(*(way.arguments for way in (*ways, *here[:stays])))
        places = dict.fromkeys([*([self.cwd] if stays else []), *(way.cwd for way in ways)])
        self.settled = len(places) == 1 and (self.settled or not stays) and all(way.settled for way in ways)
        self.moves = max(self.moves, *(way.moves for way in ways))
        self.cwd = next((place for place in reversed(places) if place != self.cwd), self.cwd)
        return spent

    def join_arguments(self, *ways: Lists) -> int:
        """They are what they are on one of these ways. Gives what it counts as to compare them."""
        given = distinct(ways)
        self.arguments = given[0]
        if len(given) == 1:
            return 0
        self.arguments = together(*given)
        return sum(map(listed_effort, given))

    def doubt(self, functions: dict[str, Function]) -> None:
        """It may also be that these are the functions."""
        found = {name for name, body in self.functions.items() if functions.get(name) is not body}
        self.unsure = self.unsure | found if found else self.unsure

    def doubt_aliases(self, *aliases: dict[str, Alias]) -> int:
        """It may also be that these are the aliases, or those. Gives what it counts as to see which differ."""
        tables = distinct((self.aliases, *aliases))
        if len(tables) == 1:
            return 0
        both, other = differing(tables)
        self.aliases = {
            name: Alias(each.text, each.end, each.depth, sure=False, before=each.before) if name in other else each
            for name, each in both.items()
        }
        return _ANEW * sum(map(len, tables))

    def doubt_references(self, *references: dict[str, str]) -> int:
        """It may also be that these are the other names, or those: what they and the variables they may stand for are
        now, and what is going to be assigned to one of them, is not known."""
        tables = distinct((self.references, *references))
        if len(tables) == 1:
            return 0
        both, other = differing(tables)
        for name in other.union(each for table in tables for name, each in table.items() if name in other):
            self.variables.own[name] = any_of([self.variables.get(name), None]) or [UNKNOWN]
        self.references = {name: f"?{name}" if name in other else each for name, each in both.items()}
        return _ANEW * sum(map(len, tables))

    def choose(self, names: Set[str] | None = None) -> None:
        """On a condition: of what a loop goes through, no longer all."""
        names = names or self.loops
        for name in names:
            values = self.variables.of(name)
            if any(STAR in value for value in values):
                self.variables[name] = [v.replace(STAR, SOME) if isinstance(v, str) else v for v in values]
        self.loops -= names

    def choose_found(self) -> int:
        """On a condition: of what was found and is gone through, no longer all, whatever it is called by now. Gives
        what it counts as to look through all that is known."""
        known = self.variables.known()
        for name, values in known.items():
            if any(BELOW in value for value in values or ()):
                self.variables[name] = [v.replace(BELOW, SOME) if isinstance(v, str) else v for v in values or ()]
        self.arguments = chosen(self.arguments)
        return ENTRY * len(known)

    def own(self, name: str) -> None:
        """In a function: from here on it is a variable of the function's."""
        if self.locals is not None and name not in self.locals:
            self.locals[name] = self.variables.get(name)
            self.forget(name)

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

    @property
    def may_expand_aliases(self) -> bool:
        """Surely by an option of its own, or perhaps by a variable."""
        return self.expands_aliases is not False or any(map(self.variables.get, self.variables.tables & _EXPANDING))

    def forget(self, name: str) -> None:
        self.variables.own[name] = None

    @property
    def user(self) -> str:
        """As a rule, the home is called as its owner is."""
        return self.home.rpartition("/")[2] or SOME

    def path(self, name: str) -> str:
        return absolute(name, self.cwd)


def around(places: list[str]) -> str:
    """Directories as one glob: what lies in the one that holds them all. Empty if that is one of them."""
    if not all(place[:1] == "/" for place in places):
        return ""
    common = commonpath(places)
    return "" if common in places else f"{common.rstrip('/')}/{STAR}"


def absolute(name: str, cwd: str) -> str:
    """A path, normalised without looking: `..` and `.` taken out, and the names that /proc has for `/` and `cwd`."""
    return _absolute(name, cwd) if len(name) < _LONGEST else _normalised(name, cwd)


@lru_cache(512)  # several rules ask in turn about the same path
def _absolute(name: str, cwd: str) -> str:
    tidy = name and not _UNTIDY.search(name) and cwd[:1] == "/" and cwd[-1] != "/" and cwd[:5] != "/proc"
    if tidy and len(cwd) + len(name) < _LONGEST:
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
        elif part == "root" and parts[:1] == ["proc"] and name[0] == "/" and _is_process(parts):
            parts.clear()
        elif part == "cwd" and parts[:1] == ["proc"] and name[0] == "/" and _is_process(parts):
            parts = _place_of(parts[1], cwd)
        elif part and part != ".":
            parts.append(part)
    path = ("/" if name.startswith("/") else "") + "/".join(parts)
    return path if len(path) <= _LONGEST else f"/{SOME}"


def _is_process(parts: list[str]) -> bool:
    """`/proc/self`, `/proc/1`, `/proc/$$`, or a thread of it."""
    return len(parts) == 2 or (len(parts) == 4 and parts[2] == "task")


def _place_of(process: str, cwd: str) -> list[str]:
    """Where a process of /proc runs: here if it is this one, or may be; the first of all in `/`; others anywhere."""
    if process == "1":
        return []
    return [SOME] if process.isdigit() or cwd[:1] != "/" else [part for part in cwd.split("/") if part]
