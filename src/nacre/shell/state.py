"""What is known at one point of a script: variables, directory, functions, files that were just written."""

from __future__ import annotations

from typing import TypeAlias

from nacre.shell.syntax import Function
from nacre.shell.text import SOME

Value: TypeAlias = str | tuple[str, ...]
"""A variable's text, or an array's."""

MOST = 24
"""Values that one variable is followed through."""


class State:
    __slots__ = ("aliases", "arguments", "cwd", "functions", "home", "variables", "written")

    def __init__(self, cwd: str, home: str, variables: dict[str, list[Value]]) -> None:
        self.cwd = cwd
        self.home = home
        self.variables = variables
        """Each with all the values it may have here."""
        self.arguments: list[str] | None = None
        self.functions: dict[str, Function] = {}
        self.aliases: dict[str, str] = {}
        self.written: dict[str, str] = {}
        """Files of known content: just written, or a process substitution."""

    def fork(self) -> State:
        copy = State(self.cwd, self.home, dict(self.variables))
        copy.arguments = self.arguments
        copy.functions = dict(self.functions)
        copy.aliases = dict(self.aliases)
        copy.written = self.written  # files are there for everybody
        return copy

    def join(self, other: State) -> None:
        """It may also have gone that way."""
        for name, values in other.variables.items():
            mine = self.variables.get(name)
            if mine is None:
                self.variables[name] = values
            elif mine is not values:
                self.variables[name] = (mine + [value for value in values if value not in mine])[:MOST]
        self.functions.update(other.functions)
        self.aliases.update(other.aliases)

    def set(self, name: str, value: Value) -> None:
        self.variables[name] = [value]

    def forget(self, name: str) -> None:
        self.variables.pop(name, None)

    def path(self, name: str) -> str:
        return absolute(name, self.cwd)


def absolute(name: str, cwd: str) -> str:
    """A path, normalised without looking: `..` and `.` taken out."""
    if not name.startswith("/"):
        name = f"{cwd or SOME}/{name}"
    parts: list[str] = []
    for part in name.split("/"):
        if part == "..":
            if parts and parts[-1] != SOME:
                parts.pop()
        elif part and part != ".":
            parts.append(part)
    return ("/" if name.startswith("/") else "") + "/".join(parts)
