"""Follow functions where they are called, and again if their arguments or the state have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nacre.shell.command import MAX_ARGUMENTS, drop_known
from nacre.shell.frame import Frame
from nacre.shell.interpreter.commands import COST_EXPAND
from nacre.shell.interpreter.expand import Expander
from nacre.shell.interpreter.fork_bombs import ForkBombFinder
from nacre.shell.interpreter.state import State
from nacre.shell.symbolic import UNKNOWN, UNKNOWN_NONEMPTY, has_glob
from nacre.shell.syntax.nodes import Function
from nacre.shell.values.positional import PositionalArguments

if TYPE_CHECKING:
    from nacre.shell.interpreter.interpreter import Interpreter

MAX_CALL_DEPTH = 32
"""Nested function calls; `MAX_RECURSION`: how often one function may be among them with its own arguments, and once
more with unknown ones."""
MAX_RECURSION = 2
_COST_KNOWN_NAME = 10
"""Cost, in characters, of comparing a name with what it was in another call."""
MAX_REPEATED_CALLS = 64
"""Calls without anything new that are followed, of all functions together."""


class FunctionCalls:
    """Follows the definitions and calls of functions."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
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

    def define(self, node: Function, state: State, frame: Frame) -> None:
        """Follow the definition of a function."""
        interpreter = self._interpreter
        name = node.name.unquoted_text() or Expander(state, interpreter, frame, node).text(node.name)
        if state.functions.bodies.get(name) is not node:
            interpreter.budget.charge(len(state.functions.bodies))
            bodies = {**state.functions.bodies, name: node}
            state.functions = state.functions.replace_values(
                bodies=bodies, uncertain=state.functions.uncertain - {name}
            )
        if self._defined.get(id(node)) is not node or name not in self._fork_bomb_finder:
            self._defined[id(node)] = node
            self._fork_bomb_finder.add(name, node, frame.span or (node.start, node.body.end))

    def finish(self, state: State, frame: Frame) -> None:
        """Follow the functions that the script has never called, and look for fork bombs among all of them."""
        if not self._defined:
            return
        for function in list(self._defined.values()):
            if id(function) not in self._called:
                self.call(function, state, frame, None)
        self._interpreter.script.fork_bombs += self._fork_bomb_finder.find()

    def call(
        self,
        function: Function,
        state: State,
        frame: Frame,
        arguments: list[str] | None,
        firm: int = MAX_ARGUMENTS,
    ) -> str:
        """Follow a call of a function; return what it prints. `firm`: the number of `arguments` that are certain."""
        if arguments and firm < len(arguments) and (UNKNOWN in arguments[:-1] or any(map(has_glob, arguments))):
            self._call(function, state.fork(), frame, _shifted_variants(arguments), MAX_ARGUMENTS)
        return self._call(function, state, frame, arguments, firm)

    def _call(self, function: Function, state: State, frame: Frame, arguments: list[str] | None, firm: int) -> str:
        interpreter = self._interpreter
        self._called.add(id(function))
        if interpreter.script.gave_up:
            return UNKNOWN
        if (inside := self._calls.count(function)) >= MAX_RECURSION:
            if inside > MAX_RECURSION or arguments is None:
                return UNKNOWN
            arguments = [UNKNOWN_NONEMPTY] * len(arguments)  # any further recursion is alike
        if len(self._calls) >= MAX_CALL_DEPTH:
            interpreter.budget.give_up(f"more than {MAX_CALL_DEPTH} functions are called inside each other")
            return UNKNOWN
        given = self._last_arguments.setdefault(id(function), set())
        call = self._call_key(state, frame, arguments, firm)
        self._repeated += call in given
        if (
            self._repeated > MAX_REPEATED_CALLS
            if call in given
            else not interpreter.budget.should_follow(len(given), arguments or ())
        ):
            return UNKNOWN
        commands = interpreter.script.commands
        first = len(commands)
        given.add(call)
        self._calls.append(function)
        lists = () if arguments is None else (PositionalArguments(tuple(arguments), firm),)
        before, state.arguments = state.arguments, state.arguments.replace_values(lists=lists, nonempty=frozenset())
        outer, state.locals = state.locals, {}
        try:
            return interpreter.node(function.body, state, frame)
        finally:
            state.variables.own.update(state.locals)
            state.arguments, state.locals = before, outer
            self._calls.pop()
            if not inside:
                known = self._known.setdefault(id(function), set())
                interpreter.budget.charge(COST_EXPAND * drop_known(commands, first, known))

    def _call_key(self, state: State, frame: Frame, arguments: list[str] | None, firm: int) -> tuple[object, ...]:
        """Return everything that decides what a call does, as a key."""
        known = state.variables.all_values()
        elements = sum(len(each) for values in known.values() if values for each in values if not isinstance(each, str))
        self._interpreter.budget.charge(_COST_KNOWN_NAME * len(known) + elements + len(state.functions.bodies))
        values = frozenset((name, tuple(each or ())) for name, each in known.items() if name != "_")
        bodies = state.functions.bodies
        if self._functions[0] is not bodies:  # a table is replaced, never changed in place
            self._functions = bodies, frozenset(bodies.items())
        given = None if arguments is None else (*arguments, firm)
        return given, frame.stdin, frame.pipes, state.cwd, state.cwd_certain, values, self._functions[1]


def _shifted_variants(arguments: list[str]) -> list[str]:
    """Return another possible list of arguments: an empty `$x` is no argument, a glob is two, and later ones move."""
    return [each for word in arguments if word != UNKNOWN for each in ((word, word) if has_glob(word) else (word,))]
