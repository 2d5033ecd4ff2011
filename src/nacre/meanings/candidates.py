"""A script → the commands that may have given its exit code: the last of a list, either side of `&&`, the last stage of
a pipe, the program behind `sudo` or `timeout`. Pure. Every branch is taken: who cannot have run is not known."""

from __future__ import annotations

from nacre.shell import Command, Script, read
from nacre.shell.syntax import Block, Calculation, Case, Group, If, Item, Loop, Node, Pipeline, Simple, Test

_SHELLS = frozenset(("bash", "sh", "dash"))
_TRANSPARENT = frozenset(
    """sudo doas env nice ionice nohup timeout gtimeout time command exec builtin stdbuf setsid chrt taskset unbuffer
    uv poetry pipenv pdm hatch rye""".split()
)
_OF_ITS_OWN = frozenset(("timeout", "gtimeout"))
"""They have codes of their own, too."""
_ENDS = frozenset(("exit", "return", "trap", "kill", "suspend", "logout", "break", "continue"))
_DEEPEST = 3


def candidates(script: Script, deep: int = 0) -> list[Command | None]:
    """None among them: something of which nobody knows."""
    if script.closed or script.broken or script.doubtful or script.foreign or script.block is None or deep > _DEEPEST:
        return [None]
    search = _Search(script, deep)
    search.block(script.block)
    return search.found


class _Search:
    def __init__(self, script: Script, deep: int) -> None:
        self.found: list[Command | None] = []
        self._script = script
        self._deep = deep
        self._first = any(_sets(command, "e", "errexit") for command in script.commands)
        """The first that fails ends it."""
        self._any_stage = any(_sets(command, "", "pipefail") for command in script.commands)
        if any(command.parent is None and (command.name in _ENDS or command.calls) for command in script.commands):
            self.found.append(None)

    def block(self, block: Block) -> None:
        items = list(block.items)
        if not items:
            self.found.append(None)
        while items:
            item = items.pop()
            self._item(item)
            if item.operator != "&&" and not self._first:
                return  # what stands before did not give it

    def _item(self, item: Item) -> None:
        if item.negated or item.background:
            self.found.append(None)
        else:
            self._node(item.node)

    def _node(self, node: Node) -> None:
        match node:
            case Simple():
                self._simple(node)
            case Pipeline():
                for stage in node.stages if self._any_stage else node.stages[-1:]:
                    self._node(stage)
            case Group() | Loop():
                self.block(node.body)
            case If():
                for _, body in node.branches:
                    self.block(body)
            case Case():
                for _, body in node.arms:
                    self.block(body)
            case Test():
                self._own("[[", node)
            case Calculation():
                self._own("((", node)
            case _:
                self.found.append(None)

    def _own(self, name: str, node: Node) -> None:
        self.found.append(Command((name,), node.start, node.end, cwd="", home=""))

    def _simple(self, node: Simple) -> None:
        place = node.start, node.end
        mine = [each for each in self._script.commands if each.parent is None and (each.start, each.end) == place]
        if not mine or any(not each.argv or each.calls for each in mine):
            self.found.append(None)
        for each in mine:  # several in a loop
            self.found += self._behind(each)

    def _behind(self, command: Command) -> list[Command | None]:
        """The program that a wrapper runs, whose code it passes on."""
        if command.name in _SHELLS and command.script is not None:
            return candidates(read(command.script, cwd=command.cwd, home=command.home), self._deep + 1)
        if command.name not in _TRANSPARENT:
            return [command]
        children = [child for child in self._script.commands if child.parent is command]
        if len(children) != 1:
            return [command] if not children else [None]
        behind = self._behind(children[0])
        return [command, *behind] if command.name in _OF_ITS_OWN else behind


def _sets(command: Command, letter: str, name: str) -> bool:
    if command.name != "set":
        return False
    letters = "".join(word[1:] for word in command.args if word[:1] == "-")
    return (bool(letter) and letter in letters) or name in command.args
