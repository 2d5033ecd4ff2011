"""Simple commands, followed: their words, redirections and variables, and whatever they run in turn.

Gives Commands, each with the one that runs it. What a program does with its words is its follower's knowledge.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from shlex import quote
from typing import TypeAlias

from nacre.shell.command import EVERY, Command, Script
from nacre.shell.env_code import runs_code
from nacre.shell.interpreter.alternatives import Here, choices
from nacre.shell.interpreter.assignments import assign, assigned_value
from nacre.shell.interpreter.budget import LONGEST, OVERLONG, WIDEST
from nacre.shell.interpreter.expand import Expander
from nacre.shell.interpreter.files import Texts as Held
from nacre.shell.interpreter.scripts import Texts
from nacre.shell.interpreter.state import Alias, State, Variables
from nacre.shell.registry import Followers
from nacre.shell.symbolic import LOST, UNKNOWN, could_be, has_glob, least, plain
from nacre.shell.syntax.nodes import DECLARES, OWNING, Assignment, Function, Node, Simple, Word
from nacre.shell.values.arrays import bound
from nacre.shell.values.values import WAYS

STEP = 500
"""What it counts as, in characters, to expand a command once more; `WORD`: to have one more word."""
WORD = 50
GLOB = 100_000
"""… to look for the programs that a glob may name."""

Follows: TypeAlias = "Callable[[Runner, Command, State], str]"
"""What a command does to the state and to other commands; gives what it would print."""


class Runner(Texts):
    """Commands, one after another. What stands around them is `Walker`'s."""

    def __init__(self, script: Script, followers: Followers) -> None:
        super().__init__(script)
        self.followers = followers
        self._after = ""
        """As in `Command.after`."""

    @abstractmethod
    def call(
        self, function: Function, state: State, stdin: str | None, arguments: list[str] | None, firm: int = EVERY
    ) -> str:
        """The walker's."""

    def told(self, command: Command, name: str, state: State) -> str:
        """What another program would print, given the same words."""
        follower = self.followers.get(name)
        return follower(self, command, state) if follower else UNKNOWN

    # simple commands

    def simple(self, node: Simple, state: State, stdin: str | None) -> str:
        self._here, self._stdin = node, stdin
        self._spent += node.end - node.start
        argv = node.argv
        if (
            argv
            and not (node.redirects or node.assignments)
            and argv[0] not in state.aliases
            and "BASH_ALIASES" not in state.variables.tables
        ):
            command = self.command(argv, node, state)  # no more than a short cut: most commands are such
            command.stdin = stdin
            return self._run(command, state)
        expander, pipes, sinks = Expander(state, self), self._pipes, len(self._sinks)
        argv = self._words(node, expander)
        if expander.choices > 1 or _varies(node):
            return self._each_way(node, argv, expander, state, stdin, sinks)
        printed = self._prepared(node, argv, expander, state, stdin)
        self._pipes = pipes
        self.drain(sinks, state)
        return printed

    def _each_way(
        self, node: Simple, first: tuple[str, ...], expander: Expander, state: State, stdin: str | None, sinks: int
    ) -> str:
        """With all the values that its variables may have: each time from here, not from where the last one led to."""
        before, argv, printed, pipes = Here(state), first, dict[str, None](), self._pipes
        seen, more = {first}, node.redirects or node.assignments
        ways: list[Here] = []
        files, wrote = state.written.mark(), list[dict[str, Held]]()
        for _ in choices(expander):
            if ways:
                before.restore(state)
                if not self.spend(STEP):
                    break
                self._here, self._stdin = node, stdin
                argv = self._words(node, expander)
                if any(LOST in word for word in argv):
                    self.close(f"a variable may have more than {WAYS} values")
                if (argv in seen and not more) or not self.worth(expander.choice, [w for w in argv if w not in first]):
                    continue
                seen.add(argv)
            state.variables = Variables(before.variables)
            printed[self._prepared(node, argv, expander, state, stdin)] = None
            self._pipes = pipes
            self.drain(sinks, state)
            ways.append(Here(state))
            if not state.loops.issuperset(expander.several):
                wrote.append(state.written.undo(files))
        state.written.join(*wrote, stays=False)
        self.spend(before.join(ways, state))
        if len(printed) > 1 and self._texts is not None:
            self._texts += printed
        return self.kept("".join(printed))

    def _words(self, node: Simple, expander: Expander) -> tuple[str, ...]:
        if node.argv is not None:
            return node.argv
        argv: list[str] = []
        looked, keyed = 1, False
        expander.firm = EVERY
        for word in node.words:
            if not isinstance(word, Word):
                if not keyed and word.elements is not None and argv and argv[0] in DECLARES:
                    keyed = any(each[:1] == "-" and "A" in each for each in argv[looked:])
                    looked = len(argv)
                if keyed and word.elements is not None:
                    self.spend(len(expander.state.maps))
                    expander.state.maps |= {word.name}
                if argv and argv[0] in OWNING and "-g" not in argv:
                    expander.state.own(word.name)
                found = self._arguments(word, expander, declared=bool(argv) and argv[0] in DECLARES)
                if expander.firm == EVERY and not all(map(plain, found)) and word.value.spreads:
                    expander.firm = max(0, len(argv) - 1)
                argv += found
            elif word.fixed is not None:
                argv.append(word.fixed)
            else:
                found = expander.fields(word)
                if expander.firm == EVERY and not all(map(plain, found)) and word.spreads:
                    expander.firm = max(0, len(argv) - 1)
                argv += found
                if self.script.closed:
                    break
        return tuple(argv)

    def _arguments(self, assignment: Assignment, expander: Expander, *, declared: bool) -> list[str]:
        """`name=value` among the arguments, several of them if there are braces; an array's is remembered at once.

        Only if it is `declared` it is an assignment; else it is no more than a word.
        """
        key = "" if assignment.subscript is None else f"[{expander.text(assignment.subscript)}]"
        start = f"{assignment.name}{key}{'+' if assignment.append else ''}="
        if assignment.elements is None and assignment.value.fixed is None:
            if not declared:
                return expander.assigned_fields(start, assignment.value)
            found = [start + expander.text(word, assigned=True) for word in expander.braced(assignment.value)]
            if len(found) > 1:
                return found
        value = assigned_value(assignment, expander)
        if isinstance(value, tuple):
            expander.state.set(assignment.name, value)
            return [assignment.name]
        return [start + value]

    def _prepared(
        self, node: Simple, argv: tuple[str, ...], expander: Expander, state: State, stdin: str | None
    ) -> str:
        assigned: dict[str, str] = {}
        for assignment in node.assignments:
            if self.script.closed:
                break
            value = assigned_value(assignment, expander)
            if argv:
                assigned[assignment.name] = value if isinstance(value, str) else " ".join(value)
            else:
                assign(expander, assignment, value)
        command = self.command(argv, node, state)
        command.stdin, command.firm = stdin, expander.firm
        if node.redirects:
            command.redirects, command.stdin = self.opened(node.redirects, expander, stdin)
            self._pipes = self._redirected_pipes(command.redirects)
        command.assigned = assigned
        if argv and (alias := self._alias(node.name, node, state)):
            sure = state.expands_aliases and alias.sure and alias.depth == self.depth and not self._inside
            inner, files = state if sure else state.fork(), state.written.mark()
            text = self._unaliased(alias, argv, node, state)
            printed = self.read(command, text, inner, stdin=command.stdin, alias=argv[0])
            if sure:
                return self.redirected(command, printed, state)
            state.written.doubt(files)
            self.spend(state.join(inner))
        if argv == ("exec",) and command.stdin is not stdin:
            state.input = command.stdin
        if argv:
            return self.redirected(command, self._run(command, state), state)
        if command.redirects or node.assignments:
            self.emit(command)
            return self.redirected(command, command.stdin or "", state) if command.redirects else ""
        return ""

    def command(self, argv: tuple[str, ...], node: Node, state: State) -> Command:
        if self._inside:
            command = Command(argv, *self._inside, cwd=state.cwd, home=state.home)
        else:
            command = Command(argv, node.start, node.end, cwd=state.cwd, home=state.home)
        command.settled = state.settled
        return command

    def emit(self, command: Command) -> None:
        command.parent = self._parent
        command.after = self._after
        command.pipe_in, command.pipe_out = self._pipes
        commands = self.script.commands
        self._spent += WORD * len(command.argv)
        if self._spent > WIDEST:
            self.spend(0)
        if len(commands) < LONGEST:
            commands.append(command)
        else:
            self.close(f"it runs more than {LONGEST} commands")
        if self._loses and any(LOST in word for word in command.argv):
            self.close(OVERLONG)

    def _run(self, command: Command, state: State, *, functions: bool = True) -> str:
        self.emit(command)
        if self.script.closed:
            return UNKNOWN
        if command.assigned:
            return self._with_assigned(command, state)
        printed = self._followed(command, state, functions=functions)
        state.variables.own["_"] = [command.argv[-1]]
        return printed

    def _with_assigned(self, command: Command, state: State) -> str:
        """`NAME=value command`: what is assigned is so for this command only."""
        before, passed = {name: state.variables.get(name) for name in command.assigned}, state.passed
        state.passed |= command.assigned.keys()
        for name, value in command.assigned.items():
            state.set(name, value)
            if runs_code(name):
                self.given(name, value, state, command)
        printed = self._followed(command, state)
        state.passed = passed
        for name, values in before.items():
            state.variables.own[name] = values
        return printed

    def _followed(self, command: Command, state: State, *, functions: bool = True) -> str:
        first = command.argv[0]
        if functions and state.functions and (function := state.functions.get(first)):
            command.calls, files = first not in state.unsure, state.written.mark()
            printed = self.call(function, state, command.stdin, list(command.args), command.firm)
            if command.calls:
                return printed
            state.written.doubt(files)
            return self._perhaps(printed, self._followed(command, state, functions=False))
        if "BASH_CMDS" in state.variables.tables and "/" not in first and plain(first):
            self._hashed(command, state)
        if follower := self.followers.get(command.name):
            return follower(self, command, state)
        if not plain(first):
            self.wonder(first)
            rest = least(first)
            if rest != first and plain(rest):  # an empty `$SUDO` before the command, `"$PREFIX"/bin/x`, `r${none}m`
                words = (rest, *command.args) if rest else command.args
                other, files = state.fork(), state.written.mark()
                printed = self.follow(command, words, other, functions=bool(rest))
                state.written.doubt(files)
                self.spend(state.join(other))
                return printed
            if has_glob(command.name):
                self.spend(GLOB)
                for name in [name for name in self.followers if could_be(command.name, name)]:
                    self.follow(command, (name, *command.args), state)
        elif "/" in first and state.path(first) in state.written:
            return self.read_file(command, state.path(first), state, list(command.args)) or ""
        return UNKNOWN

    def _perhaps(self, printed: str, other: str) -> str:
        """What is printed by a function that may not be there, and by whatever else has its name."""
        if other == UNKNOWN:
            self._partly = self._partly or bool(printed)
            return printed or UNKNOWN
        if printed not in ("", UNKNOWN, other) and self._texts is not None:
            self._texts += [printed, other]
        return other

    def _hashed(self, command: Command, state: State) -> None:
        """What bash was told that a name stands for; it may have forgotten that by now."""
        if path := bound(state.variables.of("BASH_CMDS"), command.argv[0]):
            other, files = state.fork(), state.written.mark()
            path = f"./{path}" if plain(path) and "/" not in path else path
            self.follow(command, (path, *command.args), other)
            state.written.doubt(files)
            self.spend(state.join(other))

    def _unaliased(self, alias: Alias, argv: tuple[str, ...], node: Simple, state: State) -> str:
        """The text that a command stands for. After an alias that ends in a blank the next word may be one as well."""
        words = [quote(word) for word in argv]
        text, index = alias.text, 1
        while text[-1:] in (" ", "\t") and index < len(node.words):
            word = node.words[index]
            name = word.bare() if isinstance(word, Word) else None
            following = self._alias(name, node, state) if name and words[index : index + 1] == [name] else None
            if following is None:
                break
            text, index = text + following.text, index + 1
        return " ".join((text, *words[index:]))

    def _alias(self, name: str | None, node: Simple, state: State) -> Alias | None:
        """The alias that a word of a command is: unquoted, and defined on a line before."""
        if not name or name in self._aliases or not state.may_expand_aliases:
            return None
        if "BASH_ALIASES" in state.variables.tables and (text := bound(state.variables.of("BASH_ALIASES"), name)):
            return Alias(text, 0, -1)
        alias = state.aliases.get(name)
        if alias is None or alias.depth != self.depth or self._inside:
            return alias
        return alias if self.script.text.find("\n", alias.end, node.start) >= 0 else alias.before


def _varies(node: Simple) -> bool:
    """Whether something in it besides its words may have one value or another."""
    return any(each.target.fixed is None for each in node.redirects) or any(
        each.value.fixed is None or each.elements is not None or each.subscript is not None for each in node.assignments
    )
