"""Simple commands, followed: their words, redirections and variables, and whatever they run in turn.

Gives Commands, each with the one that runs it. What a program does with its words is its follower's knowledge.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from math import prod
from shlex import quote
from typing import TypeAlias

from nacre.shell.arrays import bound
from nacre.shell.command import Command, Opened, Script, forget_known
from nacre.shell.environment import function_name, is_command, is_expanded, runs_code
from nacre.shell.expand import Expander
from nacre.shell.followers import Followers
from nacre.shell.many import MOST, WAYS, matters
from nacre.shell.parse import expansion, parse
from nacre.shell.state import Alias, State, Variables, any_of
from nacre.shell.syntax import Assignment, Block, Function, Node, Pipeline, Redirect, Simple, Substitution, Word
from nacre.shell.text import DOWNLOADED, LOST, UNKNOWN, bounded, could_be, has_glob, least, plain, source, whole
from nacre.shell.text import LONGEST as LONGEST_TEXT
from nacre.shell.variables import assign, assigned_value
from nacre.shell.words import Malformed, TooDeep

DEEPEST = 8
"""Wrappers and texts inside each other that are followed: `sudo bash -c "…"` is two."""
LONGEST = 20_000
"""Commands."""
OWNING = ("declare", "typeset", "local")
"""In a function these make a variable of its own."""
DECLARES = (*OWNING, "readonly", "export")
WIDEST = 20_000_000
"""Characters of the words that expansion makes. All other work is counted in them, too."""
PATIENCE = 2000
"""Commands up to which everything is followed with all the values it may have."""
TOGETHER = 16
"""Combinations of the values of several variables, up to which all are followed."""
STEP = 500
"""What it counts as, in characters, to expand a command once more; `WORD`: to have one more word."""
WORD = 50
READ = 8
"""… to read a character as a script."""
GLOB = 100_000
"""… to look for the programs that a glob may name."""

_READERS = frozenset(("eval", "source", ".", "trap", "sh", "bash", "dash", "zsh", "ksh"))
"""Whoever reads texts as bash does. That others do is often no more than likely."""
_SAME_SHELL = frozenset(("source", "."))
_OVERLONG = f"a text of more than {LONGEST_TEXT} characters is put together in it"

Follows: TypeAlias = "Callable[[Runner, Command, State], str]"
"""What a command does to the state and to other commands; gives what it would print."""


class Runner(ABC):
    """Commands, one after another. What stands around them is `Walker`'s."""

    def __init__(self, script: Script, followers: Followers) -> None:
        self.script = script
        self.followers = followers
        self.depth = 0
        self._parent: Command | None = None
        self._after = ""
        """As in `Command.after`."""
        self._inside: tuple[int, int] | None = None
        """The span to report for text that does not stand in the script as it is read."""
        self._here: Node = Simple(0)
        """The command that is followed at the moment."""
        self._stdin: str | None = None
        """What it reads, and so do the substitutions in its words."""
        self._aliases: list[str] = []
        self._sinks: dict[str, Block] = {}
        """The commands of `>(…)`, until what they read has been written."""
        self._traps: list[tuple[Command, str, set[tuple[object, ...]]]] = []
        """Those that are set, with what they run: as text, and as it was followed."""
        self._spent = 0
        self._loses = False
        """Whether texts were too long to be kept."""

    @abstractmethod
    def block(self, block: Block, state: State, stdin: str | None) -> str:
        """The walker's."""

    @abstractmethod
    def call(self, function: Function, state: State, stdin: str | None, arguments: list[str] | None) -> str:
        """The walker's."""

    # Runs

    def substitute(self, part: Substitution, state: State) -> str:
        self.wonder("$(…)")
        path = f"/dev/fd/{63 + len(state.written)}"
        if part.kind == ">":
            state.written[path] = ""
            self._sinks[path] = part.body
            return path
        here, inside, stdin = self._here, self._inside, self._stdin
        if inside is None and _elsewhere(part.body):
            self._inside = here.start, here.end
        printed = self._in_place(part, state, stdin) if part.kind in "{|" else self.apart(part.body, state, stdin)
        self._here, self._inside, self._stdin = here, inside, stdin
        if part.kind == "|":
            return printed
        if part.kind in "${":
            return printed.replace("\0", "").rstrip("\n")
        state.written[path] = printed
        return path

    def _in_place(self, part: Substitution, state: State, stdin: str | None) -> str:
        """By this shell itself: what `${ …; }` would print, or the REPLY of `${| …; }`, which is its own.

        It may also be that it does not run, as in `${x:-${ …; }}`.
        """
        before, functions, cwd = state.variables, state.functions, state.cwd
        inner = state.variables = Variables(before)
        printed = self.block(part.body, state, stdin)
        state.variables = before
        if part.kind == "|":
            replies = inner.own.pop("REPLY", None) or [UNKNOWN]
            printed = replies[0] if len(replies) == 1 and isinstance(replies[0], str) else UNKNOWN
        for name in inner.own:
            before.own[name] = any_of([inner.get(name), before.get(name)])
        state.doubt(functions)
        state.settled = state.settled and state.cwd == cwd
        return printed

    def apart(self, block: Block, state: State, stdin: str | None) -> str:
        """In a process of its own, which runs its traps when it ends."""
        inner, before = state.fork(), len(self._traps)
        printed = self.block(block, inner, stdin)
        self.spring(before, inner)
        return printed

    def trap(self, command: Command, text: str, state: State) -> None:
        """This is going to run, perhaps at once, at the latest when all else has: with the variables of then."""
        known: set[tuple[object, ...]] = set()
        first = len(self.script.commands)
        self.read(command, text, state.fork())
        forget_known(self.script.commands, first, known)
        self._traps.append((command, text, known))

    def spring(self, first: int, state: State) -> None:
        """The traps that were set since there were so many; not those that they set in turn."""
        for command, text, known in self._traps[first:]:
            before = len(self.script.commands)
            self.read(command, text, state.fork())
            forget_known(self.script.commands, before, known)
        del self._traps[first:]

    def drain(self, state: State) -> None:
        """What was written into `>(…)` is read by the commands in it."""
        while self._sinks:
            path, body = self._sinks.popitem()
            self.block(body, state.fork(), state.written.get(path) or None)

    def reread(self, text: str, state: State) -> str:
        """Expanded once more, as between double quotes."""
        if "$" not in text and "`" not in text:
            return text
        try:
            body = expansion(source(text))
        except Malformed:
            return UNKNOWN
        except (TooDeep, RecursionError):
            self.close("it is nested too deeply")
            return UNKNOWN
        here, before = self._here, self._inside
        self._inside = before or (here.start, here.end)
        printed = Expander(state, self).text(body)
        self._here, self._inside = here, before
        return printed

    def spend(self, characters: int) -> bool:
        """So much more text is made; whether there is room for it."""
        self._spent += characters
        if self._spent > WIDEST:
            self.close("what it does grows beyond what can be followed")
        return not self.script.closed

    def close(self, why: str) -> None:
        self.script.closed = self.script.closed or why

    def kept(self, text: str) -> str:
        """A text for later, unless it is too long."""
        if len(text) <= LONGEST_TEXT:
            return text
        self._loses = True
        return bounded(text)

    def wonder(self, what: str) -> None:
        self.script.unknown[what] = None

    # for the followers

    def follow(
        self,
        parent: Command,
        argv: tuple[str, ...],
        state: State,
        stdin: str | None = None,
        *,
        functions: bool = False,
    ) -> str:
        """A wrapper runs this: a program, whatever function has its name, unless `functions` can be run too."""
        if not argv or self.script.closed:
            return stdin or UNKNOWN
        command = Command(argv, parent.start, parent.end, cwd=state.cwd, home=state.home)
        command.settled = state.settled
        command.stdin = parent.stdin if stdin is None else stdin
        return self._deeper(parent, lambda: self._run(command, state, functions=functions))

    def read(
        self,
        parent: Command,
        text: str,
        state: State,
        *,
        stdin: str | None = None,
        arguments: list[str] | None = None,
        zero: str = "bash",
    ) -> str:
        """A shell executes this text."""
        if parent.script is None:
            parent.script = text
        if not self.spend(READ * len(text)):
            return UNKNOWN
        if self._loses and LOST in text:
            self.close(_OVERLONG)
        text = source(text).replace("\0", "")
        inner = state.fork() if arguments is not None else state
        if arguments is not None:
            inner.arguments, inner.given, inner.zero = arguments, frozenset(), zero

        def run() -> str:
            before = self._inside
            at = self.script.text.find(text, parent.start, parent.end) if before is None else -1
            if at < 0:
                self._inside = before or (parent.start, parent.end)
            block, broken = parse(text, (lambda position: at + position) if at >= 0 else None)
            if broken:
                self.script.doubtful = True
                if parent.name in _READERS and whole(text):
                    self.script.broken = True
            traps = len(self._traps)
            printed = self.block(block, inner, stdin)
            if inner is not state and parent.name not in _SAME_SHELL:
                self.spring(traps, inner)
            self._inside = before
            return printed

        return self._deeper(parent, run)

    def _deeper(self, parent: Command, run: Callable[[], str]) -> str:
        if self.depth >= DEEPEST:
            self.close(f"more than {DEEPEST} wrappers stand inside each other")
            return UNKNOWN
        before, self._parent = self._parent, parent
        self.depth += 1
        try:
            return run()
        finally:
            self.depth -= 1
            self._parent = before

    def given(self, name: str, value: str, state: State, command: Command | None = None) -> None:
        """A variable of the environment whose value is code."""
        if is_expanded(name):
            path = self.reread(value, state)
            text = state.written.get(state.path(path))
            if text is not None and command is not None:
                self.read(command, text, state.fork())
        elif function := function_name(name):
            self.block(parse(f"{function} {value}", lambda _: 0)[0], state, None)
        elif is_command(name):
            parent = command or Command((f"{name}={value}",), 0, len(self.script.text), cwd=state.cwd, home=state.home)
            script, inside = parent.script, self._inside
            self._inside = inside or (parent.start, parent.end)
            self.read(parent, value.lstrip("|!"), state.fork())
            parent.script, self._inside = script, inside

    # simple commands

    def simple(self, node: Simple, state: State, stdin: str | None) -> str:
        self._here, self._stdin = node, stdin
        self._spent += node.end - node.start
        plain = node.argv and not (node.redirects or node.assignments or self._sinks)
        if plain and not (state.aliases or state.variables.tables):  # no more than a short cut: most commands are such
            assert node.argv
            command = self.command(node.argv, node, state)
            command.stdin = stdin
            return self._run(command, state)
        expander = Expander(state, self)
        argv = self._words(node, expander)
        if expander.choices > 1 or _varies(node):
            return self._each_way(node, argv, expander, state, stdin)
        printed = self._prepared(node, argv, expander, state, stdin)
        self.drain(state)
        return printed

    def _each_way(
        self, node: Simple, first: tuple[str, ...], expander: Expander, state: State, stdin: str | None
    ) -> str:
        """With all the values that its variables may have: each time from here, not from where the last one led to."""
        before, argv, printed = state.variables, first, ""
        seen, more = {first}, node.redirects or node.assignments
        ways: list[Variables] = []
        for _ in _choices(expander):
            if ways:
                state.variables = before
                if not self.spend(STEP):
                    break
                self._here, self._stdin = node, stdin
                argv = self._words(node, expander)
                if any(LOST in word for word in argv):
                    self.close(f"a variable may have more than {WAYS} values")
                if (argv in seen and not more) or not self.worth(expander.choice, [w for w in argv if w not in first]):
                    continue
                seen.add(argv)
            ways.append(Variables(before))
            state.variables = ways[-1]
            printed = self._prepared(node, argv, expander, state, stdin) or printed
            self.drain(state)
        state.variables = before
        for name in dict.fromkeys(name for way in ways for name in way.own):
            before.own[name] = any_of([way.get(name) for way in ways]) if len(ways) > 1 else ways[0].own[name]
        return printed

    def worth(self, number: int, texts: Iterable[str]) -> bool:
        """Whether this one of many alike is followed: every one as long as there is little, later what may matter."""
        if self.script.closed:
            return False
        return number < MOST or len(self.script.commands) < PATIENCE or any(map(matters, texts))

    def _words(self, node: Simple, expander: Expander) -> tuple[str, ...]:
        if node.argv is not None:
            return node.argv
        argv: list[str] = []
        looked, keyed = 1, False
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
                argv += self._arguments(word, expander)
            elif word.fixed is not None:
                argv.append(word.fixed)
            else:
                argv += expander.fields(word)
                if self.script.closed:
                    break
        return tuple(argv)

    def _arguments(self, assignment: Assignment, expander: Expander) -> list[str]:
        """`name=value` among the arguments, several of them if there are braces; an array's is remembered at once."""
        start = f"{assignment.name}{'+' if assignment.append else ''}="
        if assignment.elements is None and assignment.subscript is None and assignment.value.fixed is None:
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
            value = assigned_value(assignment, expander)
            if argv:
                assigned[assignment.name] = value if isinstance(value, str) else " ".join(value)
            else:
                assign(expander, assignment, value)
        command = self.command(argv, node, state)
        command.stdin = stdin
        if node.redirects:
            command.redirects, command.stdin = self.opened(node.redirects, expander, stdin)
        command.assigned = assigned
        if argv and (alias := self._alias(node.name, node, state)):
            sure = state.expands_aliases and alias.depth == self.depth and not self._inside
            inner = state if sure else state.fork()
            self._aliases.append(argv[0])
            printed = self.read(command, self._unaliased(alias, argv, node, state), inner, stdin=command.stdin)
            self._aliases.pop()
            if sure:
                return self.redirected(command, printed, state)
            state.join(inner)
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
        commands = self.script.commands
        self._spent += WORD * len(command.argv)
        if self._spent > WIDEST:
            self.spend(0)
        if len(commands) < LONGEST:
            commands.append(command)
        else:
            self.close(f"it runs more than {LONGEST} commands")
        if self._loses and any(LOST in word for word in command.argv):
            self.close(_OVERLONG)

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
            command.calls = first not in state.unsure
            printed = self.call(function, state, command.stdin, list(command.args))
            if command.calls:
                return printed
        if "BASH_CMDS" in state.variables.tables and "/" not in first and plain(first):
            self._hashed(command, state)
        if follower := self.followers.get(command.name):
            return follower(self, command, state)
        if not plain(first):
            self.wonder(first)
            rest = least(first)
            if rest != first and plain(rest):  # an empty `$SUDO` before the command, `"$PREFIX"/bin/x`, `r${none}m`
                words = (rest, *command.args) if rest else command.args
                other = state.fork()
                printed = self.follow(command, words, other, functions=bool(rest))
                state.join(other)
                return printed
            if has_glob(command.name):
                self.spend(GLOB)
                for name in [name for name in self.followers if could_be(command.name, name)]:
                    self.follow(command, (name, *command.args), state)
        elif "/" in first and (text := state.written.get(state.path(first))) is not None:
            return self.read(command, text, state, arguments=list(command.args))
        return UNKNOWN

    def _hashed(self, command: Command, state: State) -> None:
        """What bash was told that a name stands for; it may have forgotten that by now."""
        if path := bound(state.variables.of("BASH_CMDS"), command.argv[0]):
            other = state.fork()
            path = f"./{path}" if plain(path) and "/" not in path else path
            self.follow(command, (path, *command.args), other)
            state.join(other)

    def _unaliased(self, alias: Alias, argv: tuple[str, ...], node: Simple, state: State) -> str:
        """The text that a command stands for. After an alias that ends in a blank the next word may be one as well."""
        words = [quote(word) if plain(word) else word for word in argv]
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
        return alias if self.script.text.find("\n", alias.end, node.start) >= 0 else None

    def opened(
        self, redirects: list[Redirect], expander: Expander, stdin: str | None
    ) -> tuple[tuple[Opened, ...], str | None]:
        opened = []
        for redirect in redirects:
            match redirect.operator:
                case "<<" | "<<-":
                    text = expander.text(redirect.target)
                case "<<<":
                    text = expander.text(redirect.target) + "\n"
                case _:
                    target = " ".join(expander.fields(redirect.target))
                    opened.append(Opened(redirect.descriptor, redirect.operator, target))
                    if redirect.operator == "<&":
                        target = f"/dev/fd/{target}"
                    elif redirect.operator not in ("<", "<>"):
                        continue
                    from_network = target.startswith(("/dev/tcp/", "/dev/udp/"))
                    text = expander.state.written.get(
                        expander.state.path(target), DOWNLOADED if from_network else UNKNOWN
                    )
            if redirect.descriptor in ("", "0"):
                stdin = text
            else:
                expander.state.written[f"/dev/fd/{redirect.descriptor}"] = text
        return tuple(opened), stdin

    def redirected(self, command: Command, printed: str, state: State) -> str:
        """What is left to print after redirections; files remember what went into them."""
        for opened in command.redirects:
            if opened.writes and opened.descriptor in ("", "1") and not opened.target.isdigit():
                path = state.path(opened.target)
                before = state.written.get(path, "") if opened.operator in (">>", "&>>") else ""
                state.written[path] = self.kept(before + printed)
                self.spend(len(before) >> 6)
                printed = ""
        return printed


def _varies(node: Simple) -> bool:
    """Whether something in it besides its words may have one value or another."""
    return any(each.target.fixed is None for each in node.redirects) or any(
        each.value.fixed is None or each.elements is not None or each.subscript is not None for each in node.assignments
    )


def _choices(expander: Expander) -> Iterator[None]:
    """Let it take one way after another: the first values of all variables, the second ones, …; and where there are few
    variables of few values, every combination."""
    yield
    while expander.choice + 1 < expander.choices:
        expander.choice += 1
        yield
    if len(expander.several) > 1 and prod(expander.several.values()) <= TOGETHER:
        for each in product(*map(range, expander.several.values())):
            if len(set(each)) > 1:
                expander.pick(each)
                yield


def _elsewhere(body: Block) -> bool:
    """Whether it was not read where it stands in the script: between nested backquotes, in a `<<-` document."""
    node = body.items[0].node if body.items else None
    node = node.stages[0] if isinstance(node, Pipeline) else node
    return isinstance(node, Simple) and node.start >= node.end
