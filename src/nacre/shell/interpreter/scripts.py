"""Follow texts that are run in turn: by a trap, a wrapper or another shell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.command import MAX_ARGUMENTS, Command, drop_known
from nacre.shell.env_code import function_name, is_command, is_expanded
from nacre.shell.frame import TOP, Frame
from nacre.shell.interpreter.budget import TOO_LONG_REASON
from nacre.shell.interpreter.state import ShellArguments, State
from nacre.shell.symbolic import (
    ALL_FOUND,
    BRACKET,
    QUESTION,
    STAR,
    TOO_LONG,
    UNKNOWN,
    UNKNOWN_NONEMPTY,
    has_glob,
    is_fully_known,
    is_literal,
    to_source,
)
from nacre.shell.syntax.nodes import Block, SimpleCommand
from nacre.shell.syntax.parser import parse
from nacre.shell.values.positional import PositionalArguments

if TYPE_CHECKING:
    from nacre.shell.interpreter.interpreter import Interpreter

MAX_NESTING = 8
"""Nested wrappers and texts that are followed: `sudo bash -c "…"` is two."""
MAX_PARSED_CHARS = 100_000
"""Characters of the texts whose syntax trees are kept."""
COST_PARSE_CHAR = 8
"""Cost, in characters, of parsing one character of a script."""

_READERS = frozenset(("eval", "source", ".", "trap", "sh", "bash", "dash", "zsh", "ksh"))
"""Programs that parse a text as bash does. For other programs, that is often no more than likely."""
_GLOBS = lazy_regex(rf"[{STAR}{QUESTION}]|{BRACKET}[^\]]*\]?")
_SAME_SHELL = frozenset(("source", "."))


class ScriptRunner:
    """Follows subshells, wrapped commands, and texts that shells execute, with their traps."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._parsed: dict[tuple[str, int], tuple[Block, bool]] = {}
        """Syntax trees of texts, while `_parsed_chars_left` allows: many texts are parsed more than once."""
        self._parsed_chars_left = MAX_PARSED_CHARS
        self._traps: list[tuple[Command, str, set[tuple[object, ...]], int]] = []
        """Traps that are set: the command, the text, what it ran when it was followed, the directory changes before."""
        self.cd_count = 0
        """Number of directory changes, by any shell."""

    # traps

    def in_subshell(self, block: Block, state: State, frame: Frame) -> str:
        """Follow a block in a subshell, which runs its traps when it exits."""
        inner, before = state.fork(), len(self._traps)
        printed = self._interpreter.block(block, inner, frame)
        self.run_traps(before, inner, frame)
        return printed

    def add_trap(self, command: Command, text: str, state: State) -> None:
        """Register a trap, and follow it as if it ran at once. `run_traps` follows it with the variables at exit."""
        known: set[tuple[object, ...]] = set()
        commands = self._interpreter.script.commands
        first, files = len(commands), state.files.checkpoint()
        self.run_text(command, text, state.fork())
        state.files.mark_uncertain(files)
        drop_known(commands, first, known)
        self._traps.append((command, text, known, self.cd_count))

    def run_traps(self, first: int, state: State, frame: Frame) -> None:
        """Follow and remove the traps from index `first` on; traps that they set in turn are only removed."""
        commands = self._interpreter.script.commands
        for command, text, known, moves in self._traps[first:]:
            before, inner, files = len(commands), state.fork(), state.files.checkpoint()
            inner.cwd_certain = inner.cwd_certain and self.cd_count == moves  # it may run in any directory in between
            self.run_text(command, text, inner, frame=frame)
            state.files.mark_uncertain(files)
            drop_known(commands, before, known)
        del self._traps[first:]

    # wrapped commands and texts

    def run_wrapped(
        self,
        parent: Command,
        argv: tuple[str, ...],
        state: State,
        stdin: str | None = None,
        *,
        functions: bool = False,
    ) -> str:
        """Follow the command of a wrapper: a program even if a function has its name, unless `functions` is set."""
        if not argv or self._interpreter.script.gave_up:
            return stdin or UNKNOWN
        frame = self._enter(parent, parent.frame)
        if frame is None:
            return UNKNOWN
        command = Command(argv, parent.start, parent.end, cwd=state.cwd, home=state.home)
        command.frame = frame
        command.cwd_certain = state.cwd_certain
        command.stdin = parent.stdin if stdin is None else stdin
        if parent.certain_args < MAX_ARGUMENTS:
            command.certain_args = _certain_prefix(argv[1:])
        return self._interpreter.commands.run(command, state, functions=functions)

    def run_text(
        self,
        parent: Command,
        text: str,
        state: State,
        *,
        stdin: str | None = None,
        arguments: list[str] | None = None,
        zero: str = "bash",
        alias: str = "",
        frame: Frame | None = None,
    ) -> str:
        """Follow a text that a shell executes; return what it prints.

        `arguments`: its positional parameters; None: those around it. `zero`: its `$0`. `alias`: the alias it is from.
        `frame`: where it runs, if not where `parent` does.
        """
        budget = self._interpreter.budget
        if parent.script is None:
            parent.script = text
        if not budget.charge(COST_PARSE_CHAR * len(text)):
            return UNKNOWN
        if budget.dropped_text and TOO_LONG in text:
            budget.give_up(TOO_LONG_REASON)
        marked, text = text, to_source(text).replace("\0", "")
        inner = state if arguments is None else _with_arguments(parent, state, arguments, zero)
        if has_glob(marked) and ("'" in text or '"' in text):  # a matching name, between quotes
            other = _GLOBS.sub(UNKNOWN_NONEMPTY, marked)
            self.run_text(parent, other, inner.fork(), stdin=stdin, frame=frame)
        outer = parent.frame if frame is None else frame
        nested = self._enter(parent, outer)
        if nested is None:
            return UNKNOWN
        at = self._interpreter.script.text.find(text, parent.start, parent.end) if outer.span is None else -1
        if at < 0:
            nested = nested.with_span(parent.start, parent.end)
        block = self._parse(parent, text, at)
        traps = len(self._traps)
        aliases = (*nested.aliases, alias) if alias else ()
        printed = self._interpreter.block(block, inner, nested.with_text(stdin, aliases))
        if inner is not state and parent.name not in _SAME_SHELL:
            self.run_traps(traps, inner, nested)
        return printed

    def _enter(self, parent: Command, outer: Frame) -> Frame | None:
        """Return the frame of what a command runs; None, and give up, if that is nested too deeply."""
        if outer.depth >= MAX_NESTING:
            self._interpreter.budget.give_up(f"more than {MAX_NESTING} wrappers stand inside each other")
            return None
        return outer.with_parent(parent)

    def _parse(self, parent: Command, text: str, at: int) -> Block:
        """Parse a text that a command executes. `at`: its position in the script; -1 if it is not there verbatim."""
        known = self._parsed.get((text, at))
        block, broken = known or parse(text, (lambda position: at + position) if at >= 0 else None)
        if known is None and len(text) <= self._parsed_chars_left:
            self._parsed_chars_left -= len(text)
            self._parsed[text, at] = block, broken
        if broken:
            script = self._interpreter.script
            script.maybe_syntax_error = True
            if parent.name in _READERS and is_fully_known(text):
                script.syntax_error = True
        return block

    def read_file(self, parent: Command, path: str, state: State, arguments: list[str] | None = None) -> str | None:
        """Follow a file that the script has written, in a separate shell, with all contents that it may have.

        Returns None if the script has not written it.
        """
        texts = state.files.contents(path)
        if len(texts) < 2:
            return self.run_text(parent, texts[0], state.fork(), arguments=arguments) if texts else None
        known, printed, files = [text for text in texts if text != UNKNOWN], dict[str, None](), state.files.checkpoint()
        parent.script = parent.script or "\n".join(known)
        for text in known:
            printed[self.run_text(parent, text, state.fork(), arguments=arguments)] = None
        state.files.mark_uncertain(files)
        parent.frame.mark_partial()
        return self._interpreter.budget.keep_if_short("".join(printed))

    def substitute_marker(self, words: tuple[str, ...], mark: str, text: str) -> tuple[str, ...]:
        """Replace a marker in words by a text; if that exceeds the budget, return only the first word."""
        size = sum(len(word) + word.count(mark) * len(text) for word in words)
        within = self._interpreter.budget.charge(size)
        return tuple(word.replace(mark, text) for word in words) if within else words[:1]

    def run_env_code(self, name: str, value: str, state: State, command: Command | None = None) -> None:
        """Follow a value of an environment variable that is code. `command`: the one that it is given to."""
        interpreter = self._interpreter
        frame = TOP if command is None else command.frame
        if is_expanded(name):
            path = interpreter.substitutions.expand_again(value, state, frame, command or SimpleCommand(0))
            if command is not None:
                self.read_file(command, state.path(path), state)
        elif function := function_name(name):
            block = parse(f"{function} {value}", lambda _: 0)[0]
            interpreter.block(block, state, frame.with_stdin(None))
        elif is_command(name):
            end = len(interpreter.script.text)
            parent = command or Command((f"{name}={value}",), 0, end, cwd=state.cwd, home=state.home)
            script = parent.script
            self.run_text(parent, value.lstrip("|!"), state.fork(), frame=frame.with_span(parent.start, parent.end))
            parent.script = script


def _with_arguments(parent: Command, state: State, arguments: list[str], zero: str) -> State:
    """Return the state of a shell with these positional parameters."""
    inner = state.fork()
    firm = _certain_prefix(arguments) if parent.certain_args < MAX_ARGUMENTS else MAX_ARGUMENTS
    inner.arguments = ShellArguments((PositionalArguments(tuple(arguments), firm),), frozenset(), zero)
    inner.in_find_loop = inner.in_find_loop or any(ALL_FOUND in each for each in arguments)
    return inner


def _certain_prefix(arguments: Sequence[str]) -> int:
    """Return the number of arguments before the first that is not known; -1 if all are known.

    For arguments of a command with an uncertain one. If all are known, that one came before them, and all may move.
    """
    return next((index for index, each in enumerate(arguments) if not is_literal(each)), -1)
