"""Functions that start copies of themselves without end: fork bombs, by shape."""

from __future__ import annotations

from collections.abc import Iterator

from nacre.shell.syntax import Block, Function, Group, If, Loop, Node, Pipeline, Simple, Substitution, Word


class Spawns:
    """Which functions call which, and which of these calls are processes of their own."""

    def __init__(self) -> None:
        self._calls: dict[str, list[tuple[str, bool]]] = {}
        self._spans: dict[str, tuple[int, int]] = {}

    def add(self, name: str, function: Function, span: tuple[int, int]) -> None:
        self._calls[name] = list(_calls(function.body))
        self._spans[name] = span

    def __contains__(self, name: str) -> bool:
        return name in self._calls

    def endless(self) -> list[tuple[int, int]]:
        """Where functions are defined that come back to themselves, in the background or through a pipe on the way."""
        circles = self._circles()
        return [
            self._spans[name]
            for name, calls in self._calls.items()
            if any(apart and callee in circles and circles[callee] == circles[name] for callee, apart in calls)
        ]

    def _circles(self) -> dict[str, int]:
        """A number for each function: the same for those that come back to each other (Tarjan's, without recursion)."""
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
    """Names that a function calls, and whether each call is apart: in the background, or a stage of a pipe."""
    waiting: list[tuple[Node, bool]] = [(body, False)]
    while waiting:
        node, apart = waiting.pop()
        match node:
            case Simple():
                if node.name is not None:
                    yield node.name, apart
                for word in () if node.argv is not None else node.words:
                    for part in word.parts if isinstance(word, Word) and word.fixed is None else ():
                        if isinstance(part, Substitution):
                            waiting += _items(part.body, apart)
            case Pipeline():
                waiting += [(stage, True) for stage in node.stages]
            case Group():
                waiting += _items(node.body, apart)
            case If():
                for condition, branch in node.branches:
                    waiting += [*_items(condition, apart), *_items(branch, apart)]
            case Loop() if not _bounded(node):
                waiting += _items(node.body, apart)


def _bounded(loop: Loop) -> bool:
    """Over something that runs out, such as the directories below this one."""
    return loop.words is not None and any(word.bare() is None or "*" in (word.bare() or "") for word in loop.words)


def _items(block: Block, apart: bool) -> list[tuple[Node, bool]]:
    return [(item.node, apart or item.background) for item in block.items]
