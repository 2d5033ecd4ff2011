"""Find the commands of a script that may have returned its exit status. Pure.

Candidates are the last command of a list, either side of `&&`, the last stage of a pipeline, the program behind `sudo`
or `timeout`, and the wrapper itself if it has its own exit statuses. Every branch is followed: which one ran is
unknown.
"""

from __future__ import annotations

from collections.abc import Iterable

from nacre.base.frozen import frozen
from nacre.base.lazy_regex import lazy_regex
from nacre.shell import Command, Script, read
from nacre.shell.syntax.nodes import (
    ArithmeticCommand,
    Block,
    Case,
    Group,
    If,
    ListItem,
    Loop,
    Node,
    Pipeline,
    Redirect,
    SimpleCommand,
    Test,
)

_SHELLS = frozenset(("bash", "sh", "dash"))
_TRANSPARENT = frozenset("env nice nohup stdbuf time command exec builtin".split())
"""Wrappers whose own exit statuses are those of a shell: 125 and above."""
_OF_ITS_OWN = frozenset("timeout gtimeout sudo doas ionice setsid chrt taskset uv poetry pipenv pdm hatch rye".split())
"""Wrappers with their own exit statuses, other than a shell's."""
_ENDS = frozenset(("exit", "return", "trap", "kill", "suspend", "logout", "break", "continue"))
_MAX_DEPTH = 3
_FAILS_UNSEEN = lazy_regex(r"\$\{\w{1,99}:?\?|\bset\s+-\w{0,9}u|nounset")
"""An expansion that stops the shell with an error message."""
_SHELL_OPTIONS = lazy_regex(r"-[ceilux]+")
_PROGRAMS = frozenset(("bin", "sbin", ".bin"))
_SYSTEM = frozenset(("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"))
_OF_SHELLS = frozenset("test [ read type hash command let cd pushd popd export set echo true printf pwd".split())


def name_of(command: Command) -> str:
    """Return the name of a well-known program; empty for a file of the user's, whatever its name: `./test`."""
    directory, slash, name = command.argv[0].rpartition("/") if command.argv else ("", "", "")
    if not slash or directory in _SYSTEM:
        return command.name
    return name if directory.rpartition("/")[2] in _PROGRAMS and name not in _OF_SHELLS else ""


@frozen
class StreamTargets:
    """Whether stdout and stderr go somewhere else than to the captured output."""

    out: bool = False
    err: bool = False

    def apply_redirects(self, redirects: Iterable[Redirect]) -> StreamTargets:
        out, err = self.out, self.err
        for each in redirects:
            target = each.target.literal
            if each.operator in ("&>", "&>>") or (each.operator == ">&" and not (target or "").isdigit()):
                out = err = True
            elif each.descriptor == "2":
                err = out if (each.operator, target) == (">&", "1") else True
            elif each.descriptor in ("", "1") and ">" in each.operator:
                out = err if (each.operator, target) == (">&", "2") else True
        return StreamTargets(out, err)

    def may_fail_unseen(self, redirects: Iterable[Redirect]) -> bool:
        """Return true if the shell may fail to open a file while its error message goes elsewhere."""
        now = self
        for each in redirects:
            opens = each.operator in ("<", ">", ">>", ">|", "<>", "&>", "&>>") and each.target.literal != "/dev/null"
            if now.err and opens:
                return True
            now = now.apply_redirects([each])
        return False


SHOWN = StreamTargets()


@frozen
class Candidate:
    """A command that may have returned the exit status."""

    command: Command
    silent: bool
    """True if its error messages are not in the output."""


def candidates(
    script: Script, deep: int = 0, *, first: bool = False, any_stage: bool = False, streams: StreamTargets = SHOWN
) -> list[Candidate | None]:
    """Return the candidates; None among them stands for a command that is unknown.

    `first`: as after `set -e`; `any_stage`: as with `pipefail`.
    """
    if (
        script.gave_up
        or script.syntax_error
        or script.maybe_syntax_error
        or script.env_runs_code
        or script.block is None
        or deep > _MAX_DEPTH
    ):
        return [None]
    search = _Search(script, deep, first=first, any_stage=any_stage)
    search.block(script.block, StreamTargets(streams.out, True) if _silences_all(script) else streams)
    return search.found


def _silences_all(script: Script) -> bool:
    """Return true if the script redirects stderr for all that follows: `exec 2>file`."""
    return any(
        command.name == "exec" and any(each.descriptor == "2" or "&" in each.operator for each in command.redirects)
        for command in script.commands
    )


class _Search:
    def __init__(self, script: Script, deep: int, *, first: bool, any_stage: bool) -> None:
        self.found: list[Candidate | None] = []
        self._script = script
        self._deep = deep
        self._first = first or any(_sets(command, "e", "errexit") for command in script.commands)
        """The first command that fails exits the shell."""
        self._any_stage = any_stage or any(_sets(command, "", "pipefail") for command in script.commands)
        if any(
            command.parent is None and (command.name in _ENDS or command.is_function_call)
            for command in script.commands
        ):
            self.found.append(None)

    def block(self, block: Block, streams: StreamTargets) -> None:
        if not block.statements:
            self.found.append(None)
        for item in reversed(block.items):
            self._item(item, streams)
            if item.operator != "&&" and not self._first:
                return  # earlier items did not set the status

    def _item(self, item: ListItem, streams: StreamTargets) -> None:
        if item.negated or item.background:
            self.found.append(None)
        else:
            self._node(item.node, streams)

    def _node(self, node: Node, outside: StreamTargets) -> None:
        if outside.may_fail_unseen(node.redirects):
            self.found.append(None)
        streams = outside.apply_redirects(node.redirects)
        match node:
            case SimpleCommand():
                if outside.err and _FAILS_UNSEEN.search(self._script.text):
                    self.found.append(None)
                self._simple(node, streams)
            case Pipeline():
                if self._any_stage:
                    for stage in node.stages[:-1]:
                        self._node(stage, StreamTargets(True, outside.err))
                self._node(node.stages[-1], outside)
            case Group() | Loop():
                self.block(node.body, streams)
            case If():
                for _, body in node.branches:
                    self.block(body, streams)
            case Case():
                for _, body in node.arms:
                    self.block(body, streams)
            case Test():
                self._own("[[", node, streams)
            case ArithmeticCommand():
                self._own("((", node, streams)
            case _:
                self.found.append(None)

    def _own(self, name: str, node: Node, streams: StreamTargets) -> None:
        self.found.append(Candidate(Command((name,), node.start, node.end, cwd="", home=""), streams.err))

    def _simple(self, node: SimpleCommand, streams: StreamTargets) -> None:
        place = node.start, node.end
        mine = [each for each in self._script.commands if each.parent is None and (each.start, each.end) == place]
        if not mine or any(not each.argv or each.is_function_call for each in mine):
            self.found.append(None)
        for each in mine:  # several in a loop
            self.found += self._wrapped_program(each, streams)

    def _wrapped_program(self, command: Command, streams: StreamTargets) -> list[Candidate | None]:
        """Return the program that a wrapper runs and whose exit status it passes on."""
        name = name_of(command)
        if name in _SHELLS and command.script is not None:
            return self._inner(command, command.script, streams)
        own = Candidate(command, streams.err)
        if name not in _TRANSPARENT and name not in _OF_ITS_OWN:
            return [own]
        children = [child for child in self._script.commands if child.parent is command]
        if len(children) != 1:
            return [own] if not children else [None]
        behind = self._wrapped_program(children[0], streams)
        return [own, *behind] if name in _OF_ITS_OWN else behind

    def _inner(self, command: Command, text: str, streams: StreamTargets) -> list[Candidate | None]:
        first = any_stage = False
        words = list(command.args[: command.args.index(text)] if text in command.args else command.args)
        while words:
            word = words.pop(0)
            if word == "-o" and words and words[0] in ("errexit", "pipefail"):
                first, any_stage = (True, any_stage) if words.pop(0) == "errexit" else (first, True)
            elif _SHELL_OPTIONS.fullmatch(word):
                first = first or "e" in word
            else:
                return [None]
        inner = read(text, cwd=command.cwd, home=command.home)
        return candidates(inner, self._deep + 1, first=first, any_stage=any_stage, streams=streams)


def _sets(command: Command, letter: str, name: str) -> bool:
    if command.name != "set":
        return False
    letters = "".join(word[1:] for word in command.args if word[:1] == "-")
    return (bool(letter) and letter in letters) or name in command.args
