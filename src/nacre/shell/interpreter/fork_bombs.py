"""Find fork bombs by their shape: functions that start copies of themselves without end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from nacre.shell.interpreter.control_flow import always_succeeds
from nacre.shell.syntax.nodes import (
    Block,
    Case,
    Coprocess,
    Function,
    Group,
    If,
    Literal,
    Loop,
    Node,
    ParameterExpansion,
    Pipeline,
    SimpleCommand,
    Substitution,
    Word,
)

_Waiting: TypeAlias = tuple[Node, bool, bool]
"""A command, whether it runs in a separate process, and whether it was selected by a word that is not known."""
ITSELF = "$FUNCNAME"
_CALLERS = frozenset(("eval",))
_INSTANT = frozenset((":", "true", "echo", "printf"))


class ForkBombFinder:
    """Finds cycles of function calls, given which of these calls are separate processes."""

    def __init__(self) -> None:
        self._calls: dict[str, list[tuple[str, bool]]] = {}
        self._spans: dict[str, tuple[int, int]] = {}

    def add(self, name: str, function: Function, span: tuple[int, int]) -> None:
        """Add a function. `span`: its place in the script, to report."""
        self._calls[name] = [(name if callee == ITSELF else callee, apart) for callee, apart in _calls(function.body)]
        self._spans[name] = span

    def __contains__(self, name: str) -> bool:
        return name in self._calls

    def find(self) -> list[tuple[int, int]]:
        """Return the spans of functions that call themselves again, with a background job or a pipe on the way."""
        circles = self._cycles()
        return [
            self._spans[name]
            for name, calls in self._calls.items()
            if any(apart and callee in circles and circles[callee] == circles[name] for callee, apart in calls)
        ]

    def _cycles(self) -> dict[str, int]:
        """Return a number for each function, equal for all functions of a cycle (Tarjan's algorithm, not recursive)."""
        numbers: dict[str, int] = {}
        lowest: dict[str, int] = {}
        circles: dict[str, int] = {}
        open_: list[str] = []
        for root in self._calls:
            waiting = [] if root in numbers else [(root, self._callees(root))]
            while waiting:
                name, callees = waiting[-1]
                if name not in numbers:
                    numbers[name] = lowest[name] = len(numbers)
                    open_.append(name)
                for callee in callees:
                    if callee not in numbers:
                        waiting.append((callee, self._callees(callee)))
                        break
                    if callee not in circles:
                        lowest[name] = min(lowest[name], numbers[callee])
                else:
                    waiting.pop()
                    if waiting:
                        lowest[waiting[-1][0]] = min(lowest[waiting[-1][0]], lowest[name])
                    if lowest[name] == numbers[name]:
                        while True:
                            circles[open_[-1]] = numbers[name]
                            if open_.pop() == name:
                                break
        return circles

    def _callees(self, name: str) -> Iterator[str]:
        return iter([callee for callee, _ in self._calls[name] if callee in self._calls])


def _calls(body: Node) -> Iterator[tuple[str, bool]]:
    """Yield the names that a function calls, and whether in a separate process: a background job, a pipeline stage."""
    waiting: list[_Waiting] = [(body, False, False)]
    while waiting:
        node, apart, chosen = waiting.pop()
        for redirect in node.redirects:
            waiting += _substituted_blocks(redirect.target, apart, chosen)
        match node:
            case SimpleCommand():
                if not (chosen and _has_literal_arguments(node)):
                    yield from ((name, apart) for name in _called_names(node))
                for assignment in node.assignments:
                    waiting += _substituted_blocks(assignment.value, apart, chosen)
                for word in () if node.argv is not None else node.words:
                    waiting += _substituted_blocks(word if isinstance(word, Word) else word.value, apart, chosen)
            case Pipeline():
                waiting += [(stage, True, chosen) for stage in node.stages]
            case Coprocess():
                waiting.append((node.command, True, chosen))
            case Group():
                waiting += _items(node.body, apart, chosen)
            case If():
                for condition, branch in node.branches:
                    waiting += [*_items(condition, apart, chosen), *_items(branch, apart, chosen)]
            case Case():
                for _, arm in node.arms:
                    waiting += _items(arm, apart, chosen or node.word.literal is None)
            case Loop() if not _is_bounded(node):
                waiting += _items(node.body, apart, chosen)


def _called_names(node: SimpleCommand) -> Iterator[str]:
    """Yield the names that a command calls: its first word, `$FUNCNAME`, and the first argument of `eval`."""
    words = [word for word in node.words[:2] if isinstance(word, Word)]
    for word in words[: 2 if node.name in _CALLERS else 1]:
        match word.parts:
            case [ParameterExpansion(name="FUNCNAME")]:
                yield ITSELF
            case [Literal(quoted=False, text=text)] if text:
                yield text


def _has_literal_arguments(node: SimpleCommand) -> bool:
    """Tell whether it is called with fixed words only: `run all) run one & run two &` terminates."""
    return len(node.words) > 1 and all(isinstance(word, Word) and word.literal is not None for word in node.words[1:])


def _substituted_blocks(word: Word, apart: bool, chosen: bool) -> list[_Waiting]:
    """Return the commands of substitutions; those of `<(…)` run in parallel to the others."""
    found: list[_Waiting] = []
    for part in word.parts if word.literal is None else ():
        if isinstance(part, Substitution):
            found += _items(part.body, apart or part.kind != "$", chosen)
    return found


def is_endless(loop: Loop) -> bool:
    """Tell whether a loop never ends and only starts processes that it does not wait for."""
    items = loop.body.items
    return (
        _is_forever(loop)
        and any(item.background for item in items)
        and all(
            item.background or (isinstance(item.node, SimpleCommand) and item.node.name in _INSTANT) for item in items
        )
    )


def _is_forever(loop: Loop) -> bool:
    if loop.expressions is not None:
        parts = [part.text for part in loop.expressions.parts if isinstance(part, Literal)]
        return len(parts) == len(loop.expressions.parts) and "".join(parts).split(";")[1:2] in ([""], [" "], ["1"])
    return loop.condition is not None and always_succeeds(loop.condition.only_item)


def _is_bounded(loop: Loop) -> bool:
    """Tell whether a loop goes over something finite, such as the directories below this one."""
    return loop.words is not None and any(
        word.unquoted_text() is None or "*" in (word.unquoted_text() or "") for word in loop.words
    )


def _items(block: Block, apart: bool, chosen: bool) -> list[_Waiting]:
    return [(item.node, apart or item.background, chosen) for item in block.items]
