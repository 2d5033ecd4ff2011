"""Follow functions where they are called, and again if their arguments or the state have changed."""

from __future__ import annotations

from abc import abstractmethod

from nacre.shell.command import MAX_ARGUMENTS, Script, drop_known
from nacre.shell.interpreter.commands import COST_EXPAND, CommandRunner
from nacre.shell.interpreter.expand import Expander
from nacre.shell.interpreter.fork_bombs import ForkBombFinder
from nacre.shell.interpreter.state import State
from nacre.shell.registry import ProgramRegistry
from nacre.shell.symbolic import UNKNOWN, UNKNOWN_NONEMPTY, has_glob
from nacre.shell.syntax.nodes import Function, Node
from nacre.shell.values.positional import PositionalArguments

MAX_CALL_DEPTH = 32
"""Nested function calls; `MAX_RECURSION`: how often one function may be among them with its own arguments, and once
more with unknown ones."""
MAX_RECURSION = 2
_COST_KNOWN_NAME = 10
"""Cost, in characters, of comparing a name with what it was in another call."""
MAX_REPEATED_CALLS = 64
"""Calls without anything new that are followed, of all functions together."""


class FunctionCalls(CommandRunner):
    """Follows the definitions and calls of functions."""

    def __init__(self, script: Script, registry: ProgramRegistry) -> None:
        super().__init__(script, registry)
        self._calls: list[Function] = []
        self._called: set[int] = set()
        self._last_arguments: dict[int, set[tuple[object, ...]]] = {}
        """For each function, the call keys with which it has been followed."""
        self._known: dict[int, set[tuple[object, ...]]] = {}
        """For each function, the commands it has run, so that they are recorded once."""
        self._repeated = 0
        """Number of calls followed again with the same key: they have to set their variables again."""
        self._functions: tuple[object, frozenset[tuple[str, Function]]] = None, frozenset()
        """The function table that was looked at last, and its items."""
        self._defined: dict[int, Function] = {}
        self._fork_bomb_finder = ForkBombFinder()

    @abstractmethod
    def node(self, node: Node, state: State, stdin: str | None) -> str:
        """Follow a command of any kind; return what it prints."""

    def define(self, node: Function, state: State) -> None:
        """Follow the definition of a function."""
        name = node.name.unquoted_text() or Expander(state, self).text(node.name)
        if state.functions.get(name) is not node:
            self.charge(len(state.functions))
            state.functions = {**state.functions, name: node}
            state.uncertain_functions -= {name}
        if self._defined.get(id(node)) is not node or name not in self._fork_bomb_finder:
            self._defined[id(node)] = node
            self._fork_bomb_finder.add(name, node, self._inside or (node.start, node.body.end))

    def call(
        self,
        function: Function,
        state: State,
        stdin: str | None,
        arguments: list[str] | None,
        firm: int = MAX_ARGUMENTS,
    ) -> str:
        if arguments and firm < len(arguments) and (UNKNOWN in arguments[:-1] or any(map(has_glob, arguments))):
            self._call(function, state.fork(), stdin, _shifted_variants(arguments), MAX_ARGUMENTS)
        return self._call(function, state, stdin, arguments, firm)

    def _call(self, function: Function, state: State, stdin: str | None, arguments: list[str] | None, firm: int) -> str:
        self._called.add(id(function))
        if self.script.gave_up:
            return UNKNOWN
        if (inside := self._calls.count(function)) >= MAX_RECURSION:
            if inside > MAX_RECURSION or arguments is None:
                return UNKNOWN
            arguments = [UNKNOWN_NONEMPTY] * len(arguments)  # any further recursion is alike
        if len(self._calls) >= MAX_CALL_DEPTH:
            self.give_up(f"more than {MAX_CALL_DEPTH} functions are called inside each other")
            return UNKNOWN
        given = self._last_arguments.setdefault(id(function), set())
        call = self._call_key(state, stdin, arguments, firm)
        self._repeated += call in given
        if (
            self._repeated > MAX_REPEATED_CALLS
            if call in given
            else not self.should_follow(len(given), arguments or ())
        ):
            return UNKNOWN
        first = len(self.script.commands)
        given.add(call)
        self._calls.append(function)
        before, state.arguments = (
            state.arguments,
            () if arguments is None else (PositionalArguments(tuple(arguments), firm),),
        )
        shown, state.nonempty_args = state.nonempty_args, frozenset()
        outer, state.locals = state.locals, {}
        try:
            return self.node(function.body, state, stdin)
        finally:
            state.variables.own.update(state.locals)
            state.arguments, state.nonempty_args, state.locals = before, shown, outer
            self._calls.pop()
            if not inside:
                known = self._known.setdefault(id(function), set())
                self.charge(COST_EXPAND * drop_known(self.script.commands, first, known))

    def _call_key(self, state: State, stdin: str | None, arguments: list[str] | None, firm: int) -> tuple[object, ...]:
        """Return everything that decides what a call does, as a key."""
        known = state.variables.all_values()
        elements = sum(len(each) for values in known.values() if values for each in values if not isinstance(each, str))
        self.charge(_COST_KNOWN_NAME * len(known) + elements + len(state.functions))
        values = frozenset((name, tuple(each or ())) for name, each in known.items() if name != "_")
        if self._functions[0] is not state.functions:  # a table is replaced, never changed in place
            self._functions = state.functions, frozenset(state.functions.items())
        given = None if arguments is None else (*arguments, firm)
        return given, stdin, self._pipes, state.cwd, state.cwd_certain, values, self._functions[1]


def _shifted_variants(arguments: list[str]) -> list[str]:
    """Return another possible list of arguments: an empty `$x` is no argument, a glob is two, and later ones move."""
    return [each for word in arguments if word != UNKNOWN for each in ((word, word) if has_glob(word) else (word,))]
