"""The state at one point of a script: variables, directory, functions, and files that were just written."""

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
"""Variables to which the shell itself gives a value until they are set."""
TABLES = frozenset(("BASH_ALIASES", "BASH_CMDS", "BASHOPTS", "SHELLOPTS", "POSIXLY_CORRECT"))
"""Variables that decide what a command word means: aliases, paths that `hash` remembers, whether aliases are used."""
_EXPANDING = frozenset(("BASHOPTS", "SHELLOPTS", "POSIXLY_CORRECT"))
COST_ENTRY = 8
"""Cost, in characters, of looking at one function or name; `_COST_NEW_ENTRY`: of creating an alias or a reference
again."""
_COST_NEW_ENTRY = 16


class Alias:
    """A word that stands for a text, on the lines after its definition; perhaps, if not `certain`."""

    __slots__ = ("before", "certain", "depth", "end", "text")

    def __init__(self, text: str, end: int, depth: int, *, sure: bool = True, before: Alias | None = None) -> None:
        self.text = text
        self.end = end
        self.depth = depth
        self.certain = sure
        self.before = before
        """The alias that this one replaces, in force up to the end of the line."""


class Variables:
    """Names with all the values they may have here. Scopes are stacked: opening one is cheap however much is below."""

    __slots__ = ("_exported", "_outer", "own", "tables")

    def __init__(self, below: Variables | None = None, passed: frozenset[str] | None = None) -> None:
        """`passed`: a new process begins here, which gets no other variables from below."""
        self._outer = below
        self._exported = passed
        self.own: dict[str, list[Value] | None] = {}
        """Values set in this scope; None for a variable that was unset."""
        self.tables: set[str] = set() if below is None else below.tables
        """Names in `TABLES` that were ever set, in any scope."""

    def get(self, name: str) -> list[Value] | None:
        """Return the values that a variable may have; None if it is not set here, and so may be in the environment."""
        scope: Variables | None = self
        kept, passed = True, False
        while scope is not None:
            if name in scope.own:
                values = scope.own[name]
                if values and passed:
                    texts: list[Value] = [
                        each for each in values if isinstance(each, str)
                    ]  # an array is never exported
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
        """Continue after one of these alternatives, which began here; with `stays`, perhaps after none.

        Returns the cost of that, in characters.
        """
        spent = 0
        if len({id(way._outer) for way in alternatives}) == 1 and (below := alternatives[0]._outer):
            found = collect_by_name([way.own for way in alternatives], below.get)
        else:  # at most two alternatives
            names = dict.fromkeys(name for way in alternatives for name in way.own)
            found = ((name, [way.get(name) for way in alternatives]) for name in names)
        for name, values in found:
            if stays:
                values.append(self.get(name))
            self.own[name] = merge_values(values)
            spent += merge_cost(values)
        return spent

    def all_values(self) -> dict[str, list[Value] | None]:
        """Return all variables with the values they may have here."""
        scopes, scope = [], self
        while scope._outer is not None:
            scopes.append(scope)
            scope = scope._outer
        found = dict(scope.own)
        for each in reversed(scopes):
            found.update(each.own)
        return found


class State:
    """Everything that is known at one point of a script."""

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
        """Whether the last `cd` certainly succeeded."""
        self.cd_count = 0
        """Number of directory changes so far."""
        self.errexit = False
        """`set -e`: the shell exits if a command fails."""
        self.nounset = False
        """`set -u`: the shell exits if it expands an unset variable."""
        self.home = home
        self.variables = variables
        self.maps: frozenset[str] = frozenset(("BASH_ALIASES", "BASH_CMDS"))
        """Associative arrays: their subscripts are texts, those of other arrays are arithmetic."""
        self.integers: frozenset[str] = frozenset()
        """Variables whose values are arithmetic (`declare -i`)."""
        self.cases: dict[str, Callable[[str], str]] = {}
        """Case conversions of variables (`declare -u`)."""
        self.references: dict[str, str] = {}
        """Namerefs (`declare -n`) and the names of their variables."""
        self.locals: dict[str, list[Value] | None] | None = None
        """In a function: the values that its local variables have outside of it."""
        self.loops: frozenset[str] = frozenset()
        """Variables of loops, which take one value after another."""
        self.in_find_loop = False
        """Inside a loop over everything that was found somewhere."""
        self.arguments: Lists = ()
        """The lists that `"$@"` may be."""
        self.nonempty_args: frozenset[str] = frozenset()
        """Numbers of the arguments that a test has shown not to be empty."""
        self.arg0 = "bash"
        self.functions: dict[str, Function] = {}
        """Never changed in place, and neither are the aliases: scopes share them."""
        self.uncertain_functions: frozenset[str] = frozenset()
        """Functions that may be missing, or different: they were defined on a condition."""
        self.exported_functions: frozenset[str] = frozenset()
        """Functions that child shells inherit."""
        self.exported: frozenset[str] = frozenset()
        """Variables that child shells inherit. Others may be in the environment, too: not all of it is known."""
        self.allexport = False
        """`set -a`: variables are exported when they are assigned."""
        self.aliases: dict[str, Alias] = {}
        self.expands_aliases: bool | None = False
        """Whether aliases are expanded; None if that is not known."""
        self.lastpipe = False
        """`shopt -s lastpipe`: this shell runs the last stage of a pipeline itself."""
        self.pending_stdin: str | None = None
        """The standard input that `exec <…` has just set."""
        self.files = Files()
        """Files that were just written, and process substitutions."""

    def fork(self) -> State:
        """Return a copy for a subshell or an alternative. Both share the files."""
        copy = State.__new__(State)  # no __init__: all fields are set here, and each stage of a pipe forks
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
        copy.files = self.files  # all processes see the same files
        return copy

    def child(self) -> State:
        """Return a copy for a text that another process reads: variables that are not exported are unknown there."""
        copy = self.fork()
        passed = frozenset(self.variables.all_values()) if self.allexport else self.exported
        copy.variables = Variables(self.variables, passed)
        copy.variables.own["IFS"] = None
        copy.allexport = False
        return copy

    def merge(self, *ways: State, stays: bool = True) -> int:
        """Continue after one of these alternatives; with `stays`, perhaps after none.

        Returns the cost of that, in characters.
        """
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
        """Continue with the arguments of one of these alternatives. Return the cost of that, in characters."""
        given = unique_by_id(alternatives)
        self.arguments = given[0]
        if len(given) == 1:
            return 0
        self.arguments = merge_lists(*given)
        return sum(map(listed_effort, given))

    def mark_uncertain(self, functions: dict[str, Function]) -> None:
        """Mark the functions as uncertain that differ from those in `functions`."""
        found = {name for name, body in self.functions.items() if functions.get(name) is not body}
        self.uncertain_functions = self.uncertain_functions | found if found else self.uncertain_functions

    def mark_uncertain_aliases(self, *aliases: dict[str, Alias]) -> int:
        """Mark the aliases as uncertain that differ in one of these tables. Return the cost of that, in characters."""
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
        """Mark the namerefs as uncertain that differ in one of these tables. Return the cost of that, in characters.

        Their values, those of the variables they may stand for, and the target of later assignments are then unknown.
        """
        tables = unique_by_id((self.references, *references))
        if len(tables) == 1:
            return 0
        both, other = find_differing(tables)
        for name in other.union(each for table in tables for name, each in table.items() if name in other):
            self.variables.own[name] = merge_values([self.variables.get(name), None]) or [UNKNOWN]
        self.references = {name: f"?{name}" if name in other else each for name, each in both.items()}
        return _COST_NEW_ENTRY * sum(map(len, tables))

    def choose(self, names: Set[str] | None = None) -> None:
        """Note that a condition was met: the globs in loop variables no longer stand for all files that match."""
        names = names or self.loops
        for name in names:
            values = self.variables.values_of(name)
            if any(STAR in value for value in values):
                self.variables[name] = [v.replace(STAR, UNKNOWN_NONEMPTY) if isinstance(v, str) else v for v in values]
        self.loops -= names

    def choose_found_paths(self) -> int:
        """Note that a condition was met: found paths, in whatever variable, are no longer all that `find` found.

        Returns the cost of looking at all variables, in characters.
        """
        known = self.variables.all_values()
        for name, values in known.items():
            if any(ALL_FOUND in value for value in values or ()):
                self.variables[name] = [
                    v.replace(ALL_FOUND, UNKNOWN_NONEMPTY) if isinstance(v, str) else v for v in values or ()
                ]
        self.arguments = without_all_found(self.arguments)
        return COST_ENTRY * len(known)

    def make_local(self, name: str) -> None:
        """Make a variable local from here on, if this is in a function."""
        if self.locals is not None and name not in self.locals:
            self.locals[name] = self.variables.get(name)
            self.forget(name)

    def set(self, name: str, value: Value) -> None:
        self.variables[name] = [value]

    def assume_nonempty(self, name: str) -> None:
        """Note that a variable is not empty from here on, even if its value is unknown."""
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
        """Whether aliases may be expanded: by an option, or perhaps by a variable."""
        return self.expands_aliases is not False or any(map(self.variables.get, self.variables.tables & _EXPANDING))

    def forget(self, name: str) -> None:
        self.variables.own[name] = None

    @property
    def user(self) -> str:
        """Name of the user: usually the last part of the home directory."""
        return self.home.rpartition("/")[2] or UNKNOWN_NONEMPTY

    def path(self, name: str) -> str:
        """Return a path, absolute and normalised, relative to the working directory."""
        return absolute(name, self.cwd)
