"""What is known at one point of a script: variables, directory, functions, files that were just written."""

from __future__ import annotations

from collections.abc import Callable, Set

from nacre.shell.interpreter.files import Files
from nacre.shell.paths import absolute
from nacre.shell.symbolic import ALL_FOUND, STAR, UNKNOWN, UNKNOWN_NONEMPTY
from nacre.shell.syntax.nodes import Function
from nacre.shell.values.merge import collect_by_name, find_differing, merge_cost, merge_values, unique_by_id
from nacre.shell.values.positional import Lists, merge_lists, without_all_found
from nacre.shell.values.positional import merge_cost as listed_effort
from nacre.shell.values.values import Value, union

_KNOWN = frozenset(("PWD", "OLDPWD", "IFS", "USER", "LOGNAME", "PPID"))
"""Variables that have a value of the shell's own until they are set."""
TABLES = frozenset(("BASH_ALIASES", "BASH_CMDS", "BASHOPTS", "SHELLOPTS", "POSIXLY_CORRECT"))
"""Variables that decide what a word is as a command: aliases, what `hash` remembers, whether aliases are expanded."""
_EXPANDING = frozenset(("BASHOPTS", "SHELLOPTS", "POSIXLY_CORRECT"))
COST_ENTRY = 8
"""What it counts as, in characters, to look at one function or name; `_COST_NEW_ENTRY`: to make an alias or a reference
anew."""
_COST_NEW_ENTRY = 16


class Alias:
    """A word that stands for a text, on the lines after its definition; perhaps, if not `sure`."""

    __slots__ = ("before", "certain", "depth", "end", "text")

    def __init__(self, text: str, end: int, depth: int, *, sure: bool = True, before: Alias | None = None) -> None:
        self.text = text
        self.end = end
        self.depth = depth
        self.certain = sure
        self.before = before
        """What it stood for up to the end of this line."""


class Variables:
    """Names with all the values they may have here: a scope on top of another, cheap to open however much is below."""

    __slots__ = ("_exported", "_outer", "own", "tables")

    def __init__(self, below: Variables | None = None, passed: frozenset[str] | None = None) -> None:
        """`passed`: another process begins here, and gets no others from below."""
        self._outer = below
        self._exported = passed
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
                    return texts if kept and len(texts) == len(values) else union(texts, [UNKNOWN])
                return values
            if scope._exported is not None:
                kept, passed = kept and name in scope._exported, True
            scope = scope._outer
        return None

    def values_of(self, name: str) -> list[Value]:
        return self.get(name) or []

    def __setitem__(self, name: str, values: list[Value]) -> None:
        self.own[name] = values
        if name in TABLES:
            self.tables.add(name)

    def merge(self, *alternatives: Variables, stays: bool) -> int:
        """The script has gone one of these ways from here; or, with `stays`, none of them. Gives what it counts as, in
        characters, to put together what the names may be now."""
        spent = 0
        if len({id(way._outer) for way in alternatives}) == 1 and (below := alternatives[0]._outer):
            found = collect_by_name([way.own for way in alternatives], below.get)
        else:  # two of them, at the most
            names = dict.fromkeys(name for way in alternatives for name in way.own)
            found = ((name, [way.get(name) for way in alternatives]) for name in names)
        for name, values in found:
            if stays:
                values.append(self.get(name))
            self.own[name] = merge_values(values)
            spent += merge_cost(values)
        return spent

    def all_values(self) -> dict[str, list[Value] | None]:
        """All of them, as they are here."""
        scopes, scope = [], self
        while scope._outer is not None:
            scopes.append(scope)
            scope = scope._outer
        found = dict(scope.own)
        for each in reversed(scopes):
            found.update(each.own)
        return found


class State:
    __slots__ = (
        "aliases",
        "allexport",
        "arg0",
        "arguments",
        "cases",
        "cd_count",
        "cwd",
        "cwd_certain",
        "errexit",
        "expands_aliases",
        "exported",
        "exported_functions",
        "files",
        "functions",
        "home",
        "in_find_loop",
        "integers",
        "lastpipe",
        "locals",
        "loops",
        "maps",
        "nonempty_args",
        "nounset",
        "pending_stdin",
        "references",
        "uncertain_functions",
        "variables",
    )  # fmt: skip

    def __init__(self, cwd: str, home: str, variables: Variables) -> None:
        self.cwd = cwd
        self.cwd_certain = True
        """The last `cd` has surely worked."""
        self.cd_count = 0
        """How many there were."""
        self.errexit = False
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
        self.in_find_loop = False
        """All that was found somewhere is being gone through."""
        self.arguments: Lists = ()
        """What `"$@"` may be."""
        self.nonempty_args: frozenset[str] = frozenset()
        """Numbers of arguments that were shown not to be empty."""
        self.arg0 = "bash"
        self.functions: dict[str, Function] = {}
        """Never changed in place, nor are the aliases: scopes share them."""
        self.uncertain_functions: frozenset[str] = frozenset()
        """Functions that may not be there, or be others: defined on a condition."""
        self.exported_functions: frozenset[str] = frozenset()
        """Functions that child shells inherit."""
        self.exported: frozenset[str] = frozenset()
        """Variables that they do. Any other may be in the environment as well: nobody knows all of that."""
        self.allexport = False
        """`set -a`: whatever is assigned from now on."""
        self.aliases: dict[str, Alias] = {}
        self.expands_aliases: bool | None = False
        """None: perhaps."""
        self.lastpipe = False
        """`shopt -s lastpipe`: the last stage of a pipe is run by this shell itself."""
        self.pending_stdin: str | None = None
        """What `exec <…` has just made the standard input."""
        self.files = Files()
        """Just written, or a process substitution."""

    def fork(self) -> State:
        copy = State.__new__(State)  # every field is set here, and this is done for each stage of a pipe
        copy.cwd, copy.home, copy.variables = self.cwd, self.home, Variables(self.variables)
        copy.cwd_certain, copy.cd_count, copy.errexit, copy.nounset = (
            self.cwd_certain,
            self.cd_count,
            self.errexit,
            self.nounset,
        )
        copy.maps, copy.integers, copy.cases, copy.references = self.maps, self.integers, self.cases, self.references
        copy.loops, copy.in_find_loop = self.loops, self.in_find_loop
        copy.locals = None if self.locals is None else {}
        copy.arguments, copy.nonempty_args, copy.arg0 = self.arguments, self.nonempty_args, self.arg0
        copy.functions, copy.uncertain_functions, copy.exported_functions = (
            self.functions,
            self.uncertain_functions,
            self.exported_functions,
        )
        copy.exported, copy.allexport = self.exported, self.allexport
        copy.aliases, copy.pending_stdin = self.aliases, None
        copy.expands_aliases, copy.lastpipe = self.expands_aliases, self.lastpipe
        copy.files = self.files  # files are there for everybody
        return copy

    def child(self) -> State:
        """For a text that another process reads: what was not exported is not known there."""
        copy = self.fork()
        passed = frozenset(self.variables.all_values()) if self.allexport else self.exported
        copy.variables = Variables(self.variables, passed)
        copy.variables.own["IFS"] = None
        copy.allexport = False
        return copy

    def merge(self, *ways: State, stays: bool = True) -> int:
        """It has gone one of these ways; or, with `stays`, none of them. Gives what it counts as, in characters, to put
        them together."""
        spent = self.variables.merge(*(way.variables for way in ways), stays=stays)
        here = (self, *ways) if stays else ways
        defined = unique_by_id([way.functions for way in here])
        if len(defined) > 1 or defined[0] is not self.functions:
            self.functions, other = find_differing(defined)
            self.uncertain_functions = self.uncertain_functions.union(
                other, *unique_by_id([way.uncertain_functions for way in ways])
            )
            spent += COST_ENTRY * sum(map(len, defined))
        spent += self.mark_uncertain_aliases(*(way.aliases for way in ways))
        if any(way.expands_aliases is not self.expands_aliases for way in ways):
            self.expands_aliases = None
        spent += self.mark_uncertain_references(*(way.references for way in ways))
        self.errexit, self.nounset = all(way.errexit for way in here), all(way.nounset for way in here)
        passed = unique_by_id([way.exported for way in here])
        self.exported = passed[0].intersection(*passed[1:])
        spent += sum(map(len, passed[1:]))
        spent += self.merge_arguments(*(way.arguments for way in (*ways, *here[:stays])))
        places = dict.fromkeys([*([self.cwd] if stays else []), *(way.cwd for way in ways)])
        self.cwd_certain = len(places) == 1 and (self.cwd_certain or not stays) and all(way.cwd_certain for way in ways)
        self.cd_count = max(self.cd_count, *(way.cd_count for way in ways))
        self.cwd = next((place for place in reversed(places) if place != self.cwd), self.cwd)
        return spent

    def merge_arguments(self, *alternatives: Lists) -> int:
        """They are what they are on one of these ways. Gives what it counts as to compare them."""
        given = unique_by_id(alternatives)
        self.arguments = given[0]
        if len(given) == 1:
            return 0
        self.arguments = merge_lists(*given)
        return sum(map(listed_effort, given))

    def mark_uncertain(self, functions: dict[str, Function]) -> None:
        """It may also be that these are the functions."""
        found = {name for name, body in self.functions.items() if functions.get(name) is not body}
        self.uncertain_functions = self.uncertain_functions | found if found else self.uncertain_functions

    def mark_uncertain_aliases(self, *aliases: dict[str, Alias]) -> int:
        """It may also be that these are the aliases, or those. Gives what it counts as to see which differ."""
        tables = unique_by_id((self.aliases, *aliases))
        if len(tables) == 1:
            return 0
        both, other = find_differing(tables)
        self.aliases = {
            name: Alias(each.text, each.end, each.depth, sure=False, before=each.before) if name in other else each
            for name, each in both.items()
        }
        return _COST_NEW_ENTRY * sum(map(len, tables))

    def mark_uncertain_references(self, *references: dict[str, str]) -> int:
        """It may also be that these are the other names, or those: what they and the variables they may stand for are
        now, and what is going to be assigned to one of them, is not known."""
        tables = unique_by_id((self.references, *references))
        if len(tables) == 1:
            return 0
        both, other = find_differing(tables)
        for name in other.union(each for table in tables for name, each in table.items() if name in other):
            self.variables.own[name] = merge_values([self.variables.get(name), None]) or [UNKNOWN]
        self.references = {name: f"?{name}" if name in other else each for name, each in both.items()}
        return _COST_NEW_ENTRY * sum(map(len, tables))

    def choose(self, names: Set[str] | None = None) -> None:
        """On a condition: of what a loop goes through, no longer all."""
        names = names or self.loops
        for name in names:
            values = self.variables.values_of(name)
            if any(STAR in value for value in values):
                self.variables[name] = [v.replace(STAR, UNKNOWN_NONEMPTY) if isinstance(v, str) else v for v in values]
        self.loops -= names

    def choose_found_paths(self) -> int:
        """On a condition: of what was found and is gone through, no longer all, whatever it is called by now. Gives
        what it counts as to look through all that is known."""
        known = self.variables.all_values()
        for name, values in known.items():
            if any(ALL_FOUND in value for value in values or ()):
                self.variables[name] = [
                    v.replace(ALL_FOUND, UNKNOWN_NONEMPTY) if isinstance(v, str) else v for v in values or ()
                ]
        self.arguments = without_all_found(self.arguments)
        return COST_ENTRY * len(known)

    def make_local(self, name: str) -> None:
        """In a function: from here on it is a variable of the function's."""
        if self.locals is not None and name not in self.locals:
            self.locals[name] = self.variables.get(name)
            self.forget(name)

    def set(self, name: str, value: Value) -> None:
        self.variables[name] = [value]

    def assume_nonempty(self, name: str) -> None:
        """From here on it is not empty: whatever it may be, it is something."""
        if name.isdigit():
            self.nonempty_args |= {name}
        if not name.isidentifier() or name in _KNOWN:
            return
        values = self.variables.values_of(name)
        if not values or any(value in ("", UNKNOWN) for value in values):
            self.variables[name] = [UNKNOWN_NONEMPTY if value in ("", UNKNOWN) else value for value in values] or [
                UNKNOWN_NONEMPTY
            ]

    @property
    def may_expand_aliases(self) -> bool:
        """Surely by an option of its own, or perhaps by a variable."""
        return self.expands_aliases is not False or any(map(self.variables.get, self.variables.tables & _EXPANDING))

    def forget(self, name: str) -> None:
        self.variables.own[name] = None

    @property
    def user(self) -> str:
        """As a rule, the home is called as its owner is."""
        return self.home.rpartition("/")[2] or UNKNOWN_NONEMPTY

    def path(self, name: str) -> str:
        return absolute(name, self.cwd)
