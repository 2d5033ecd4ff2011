"""Variables, with all the values that they may have at one point of a script."""

from __future__ import annotations

from nacre.shell.symbolic import UNKNOWN
from nacre.shell.values.merge import collect_by_name, merge_cost, merge_values
from nacre.shell.values.values import Value, union

TABLES = frozenset(("BASH_ALIASES", "BASH_CMDS", "BASHOPTS", "SHELLOPTS", "POSIXLY_CORRECT"))
"""Variables that decide what a command word means: aliases, paths that `hash` remembers, whether aliases are used."""


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
