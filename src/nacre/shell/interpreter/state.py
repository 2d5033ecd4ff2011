"""The state at one point of a script: variables, directory, functions, and files that were just written."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import TYPE_CHECKING

from nacre.shell.paths import absolute
from nacre.shell.symbolic import ALL_FOUND, STAR, UNKNOWN, UNKNOWN_NONEMPTY
from nacre.shell.syntax.nodes import Function
from nacre.shell.values.files import Files
from nacre.shell.values.merge import find_differing, merge_values, unique_by_id
from nacre.shell.values.positional import Lists, merge_lists, without_all_found
from nacre.shell.values.positional import merge_cost as listed_effort
from nacre.shell.values.values import Value
from nacre.shell.values.variables import Variables

if TYPE_CHECKING:
    from typing import Self

_KNOWN = frozenset(("PWD", "OLDPWD", "IFS", "USER", "LOGNAME", "PPID"))
"""Variables to which the shell itself gives a value until they are set."""
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


class _SharedValues:
    """Values that forks of a state share: they are replaced together, never changed in place."""

    def replace_values(self, **changes: object) -> Self:
        """Return a copy in which the given values are others."""
        copy = type(self).__new__(type(self))
        vars(copy).update(vars(self), **changes)
        return copy


class ShellOptions(_SharedValues):
    """The options of a shell that matter here."""

    def __init__(self) -> None:
        self.errexit = False
        """`set -e`: the shell exits if a command fails."""
        self.nounset = False
        """`set -u`: the shell exits if it expands an unset variable."""
        self.allexport = False
        """`set -a`: variables are exported when they are assigned."""
        self.expands_aliases: bool | None = False
        """Whether aliases are expanded; None if that is not known."""
        self.lastpipe = False
        """`shopt -s lastpipe`: this shell runs the last stage of a pipeline itself."""


class VariableAttributes(_SharedValues):
    """The attributes that names of variables have."""

    def __init__(self, exported: frozenset[str] = frozenset()) -> None:
        self.maps: frozenset[str] = frozenset(("BASH_ALIASES", "BASH_CMDS"))
        """Associative arrays: their subscripts are texts, those of other arrays are arithmetic."""
        self.integers: frozenset[str] = frozenset()
        """Variables whose values are arithmetic (`declare -i`)."""
        self.cases: dict[str, Callable[[str], str]] = {}
        """Case conversions of variables (`declare -u`)."""
        self.references: dict[str, str] = {}
        """Namerefs (`declare -n`) and the names of their variables."""
        self.exported = exported
        """Variables that child shells inherit. Others may be in the environment, too: not all of it is known."""


class ShellArguments(_SharedValues):
    """The positional parameters."""

    def __init__(self, lists: Lists, nonempty: frozenset[str], arg0: str) -> None:
        self.lists = lists
        """The lists that `"$@"` may be."""
        self.nonempty = nonempty
        """Numbers of the arguments that a test has shown not to be empty."""
        self.arg0 = arg0


class FunctionTable(_SharedValues):
    """The functions of a shell."""

    def __init__(self) -> None:
        self.bodies: dict[str, Function] = {}
        self.uncertain: frozenset[str] = frozenset()
        """Functions that may be missing, or different: they were defined on a condition."""
        self.exported: frozenset[str] = frozenset()
        """Functions that child shells inherit."""


# until something is set, all states have these
_NO_OPTIONS = ShellOptions()
_NO_ATTRIBUTES = VariableAttributes()
_NO_ARGUMENTS = ShellArguments((), frozenset(), "bash")
_NO_FUNCTIONS = FunctionTable()


class State:
    """Everything that is known at one point of a script."""

    __slots__ = (
        "aliases",
        "arguments",
        "attributes",
        "cd_count",
        "cwd",
        "cwd_certain",
        "files",
        "functions",
        "home",
        "in_find_loop",
        "locals",
        "loops",
        "options",
        "pending_stdin",
        "variables",
    )  # fmt: skip

    def __init__(self, cwd: str, home: str, variables: Variables) -> None:
        self.cwd = cwd
        self.cwd_certain = True
        """Whether the last `cd` certainly succeeded."""
        self.cd_count = 0
        """Number of directory changes so far."""
        self.home = home
        self.variables = variables
        self.attributes = _NO_ATTRIBUTES
        self.locals: dict[str, list[Value] | None] | None = None
        """In a function: the values that its local variables have outside of it."""
        self.loops: frozenset[str] = frozenset()
        """Variables of loops, which take one value after another."""
        self.in_find_loop = False
        """Inside a loop over everything that was found somewhere."""
        self.arguments = _NO_ARGUMENTS
        self.functions = _NO_FUNCTIONS
        self.aliases: dict[str, Alias] = {}
        """Never changed in place: forks share them."""
        self.options = _NO_OPTIONS
        self.pending_stdin: str | None = None
        """The standard input that `exec <…` has just set."""
        self.files = Files()
        """Files that were just written, and process substitutions."""

    def fork(self) -> State:
        """Return a copy for a subshell or an alternative. Both share the files."""
        copy = State.__new__(State)  # no __init__: all fields are set here, and each stage of a pipe forks
        copy.cwd, copy.home, copy.cwd_certain, copy.cd_count = self.cwd, self.home, self.cwd_certain, self.cd_count
        copy.variables, copy.attributes = Variables(self.variables), self.attributes
        copy.loops, copy.in_find_loop = self.loops, self.in_find_loop
        copy.locals = None if self.locals is None else {}
        copy.arguments, copy.functions, copy.options = self.arguments, self.functions, self.options
        copy.aliases, copy.pending_stdin = self.aliases, None
        copy.files = self.files  # all processes see the same files
        return copy

    def child(self) -> State:
        """Return a copy for a text that another process reads: variables that are not exported are unknown there."""
        copy = self.fork()
        passed = frozenset(self.variables.all_values()) if self.options.allexport else self.attributes.exported
        copy.variables = Variables(self.variables, passed)
        copy.variables.own["IFS"] = None
        if copy.options.allexport:
            copy.options = copy.options.replace_values(allexport=False)
        return copy

    def merge(self, *ways: State, stays: bool = True) -> int:
        """Continue after one of these alternatives; with `stays`, perhaps after none.

        Returns the cost of that, in characters.
        """
        spent = self.variables.merge(*(way.variables for way in ways), stays=stays)
        here = (self, *ways) if stays else ways
        spent += self._merge_functions(*ways, stays=stays)
        spent += self.mark_uncertain_aliases(*(way.aliases for way in ways))
        self._merge_options(*ways, stays=stays)
        spent += self.mark_uncertain_references(*(way.attributes.references for way in ways))
        passed = unique_by_id([way.attributes.exported for way in here])
        if len(passed) > 1 or passed[0] is not self.attributes.exported:
            self.attributes = self.attributes.replace_values(exported=passed[0].intersection(*passed[1:]))
            spent += sum(map(len, passed[1:]))
        spent += self.merge_arguments(*(way.arguments.lists for way in (*ways, *here[:stays])))
        places = dict.fromkeys([*([self.cwd] if stays else []), *(way.cwd for way in ways)])
        self.cwd_certain = len(places) == 1 and (self.cwd_certain or not stays) and all(way.cwd_certain for way in ways)
        self.cd_count = max(self.cd_count, *(way.cd_count for way in ways))
        self.cwd = next((place for place in reversed(places) if place != self.cwd), self.cwd)
        return spent

    def _merge_functions(self, *ways: State, stays: bool) -> int:
        defined = unique_by_id([way.functions.bodies for way in ((self, *ways) if stays else ways)])
        if len(defined) == 1 and defined[0] is self.functions.bodies:
            return 0
        bodies, other = find_differing(defined)
        uncertain = self.functions.uncertain.union(other, *unique_by_id([way.functions.uncertain for way in ways]))
        self.functions = self.functions.replace_values(bodies=bodies, uncertain=uncertain)
        return COST_ENTRY * sum(map(len, defined))

    def _merge_options(self, *ways: State, stays: bool) -> None:
        here = (self, *ways) if stays else ways
        if all(way.options is self.options for way in ways):
            return
        now = self.options
        same = all(way.options.expands_aliases is now.expands_aliases for way in ways)
        self.options = now.replace_values(
            errexit=all(way.options.errexit for way in here),
            nounset=all(way.options.nounset for way in here),
            expands_aliases=now.expands_aliases if same else None,
        )

    def merge_arguments(self, *alternatives: Lists) -> int:
        """Continue with the arguments of one of these alternatives. Return the cost of that, in characters."""
        given = unique_by_id(alternatives)
        lists = given[0] if len(given) == 1 else merge_lists(*given)
        if lists is not self.arguments.lists:
            self.arguments = self.arguments.replace_values(lists=lists)
        return sum(map(listed_effort, given)) if len(given) > 1 else 0

    def mark_uncertain(self, functions: dict[str, Function]) -> None:
        """Mark the functions as uncertain that differ from those in `functions`."""
        found = {name for name, body in self.functions.bodies.items() if functions.get(name) is not body}
        if found:
            self.functions = self.functions.replace_values(uncertain=self.functions.uncertain | found)

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
        tables = unique_by_id((self.attributes.references, *references))
        if len(tables) == 1:
            return 0
        both, other = find_differing(tables)
        for name in other.union(each for table in tables for name, each in table.items() if name in other):
            self.variables.own[name] = merge_values([self.variables.get(name), None]) or [UNKNOWN]
        merged = {name: f"?{name}" if name in other else each for name, each in both.items()}
        self.attributes = self.attributes.replace_values(references=merged)
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
            if values and (ALL_FOUND in values[0] if len(values) == 1 else any(ALL_FOUND in value for value in values)):
                self.variables[name] = [
                    v.replace(ALL_FOUND, UNKNOWN_NONEMPTY) if isinstance(v, str) else v for v in values
                ]
        lists = without_all_found(self.arguments.lists)
        if lists is not self.arguments.lists:
            self.arguments = self.arguments.replace_values(lists=lists)
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
            self.arguments = self.arguments.replace_values(nonempty=self.arguments.nonempty | {name})
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
        return self.options.expands_aliases is not False or any(
            map(self.variables.get, self.variables.tables & _EXPANDING)
        )

    def forget(self, name: str) -> None:
        self.variables.own[name] = None

    @property
    def user(self) -> str:
        """Name of the user: usually the last part of the home directory."""
        return self.home.rpartition("/")[2] or UNKNOWN_NONEMPTY

    def path(self, name: str) -> str:
        """Return a path, absolute and normalised, relative to the working directory."""
        return absolute(name, self.cwd)
