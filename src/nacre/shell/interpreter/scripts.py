"""Follow texts that are run in turn: by a substitution, a trap, a wrapper or another shell."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.command import MAX_ARGUMENTS, Command, Script, drop_known
from nacre.shell.env_code import function_name, is_command, is_expanded
from nacre.shell.interpreter.budget import TOO_LONG_REASON
from nacre.shell.interpreter.expand import Expander
from nacre.shell.interpreter.pipes import Pipes
from nacre.shell.interpreter.state import State, Variables
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
from nacre.shell.syntax.nodes import Block, Node, Pipeline, SimpleCommand, Substitution
from nacre.shell.syntax.parser import expansion, parse
from nacre.shell.syntax.words import BashSyntaxError, TooDeep
from nacre.shell.values.positional import PositionalArguments

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


class ScriptRunner(Pipes):
    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.depth = 0
        self._parent: Command | None = None
        self._inside: tuple[int, int] | None = None
        """Span to report for text that is not in the script verbatim."""
        self._list_start: Node = SimpleCommand(0)
        """The command that is being followed."""
        self._parsed: dict[tuple[str, int], tuple[Block, bool]] = {}
        """Syntax trees of texts, while `_parsed_chars_left` allows: many texts are parsed more than once."""
        self._parsed_chars_left = MAX_PARSED_CHARS
        self._aliases: tuple[str, ...] = ()
        """Aliases whose text is being read: in that text, and in no other, they are ordinary words."""
        self._texts: list[str] | None = None
        """In a substitution: the texts that may be printed, if there are several."""
        self._traps: list[tuple[Command, str, set[tuple[object, ...]], int]] = []
        """Traps that are set: the command, the text, what it ran when it was followed, the directory changes before."""
        self.cd_count = 0
        """Number of directory changes, by any shell."""

    @abstractmethod
    def _run(self, command: Command, state: State, *, functions: bool = True) -> str:
        """Record and follow a command; return what it prints."""

    def substitute(self, part: Substitution, state: State) -> list[str]:
        self.note_unknown("$(…)")
        path = f"/dev/fd/{63 + len(state.files)}"
        pipe = self.new_pipes(part, 1) if part.kind in "<>" else 0
        if part.kind == ">":
            state.files[path] = ""
            self._pending_sinks.append((path, part.body, pipe))
            self._pipe_ends[path] = pipe
            return [path]
        here, inside, stdin, pipes = self._list_start, self._inside, self._stdin, self._pipes
        before, self._texts, self._output_partial = (self._texts, self._output_partial), [], False
        if inside is None and _is_repositioned(part.body):
            self._inside = here.start, here.end
        self._pipes = pipes[0], pipe
        printed = (
            self._in_current_shell(part, state, stdin)
            if part.kind in "{|"
            else self.in_subshell(part.body, state, stdin)
        )
        self._list_start, self._inside, self._stdin, self._pipes = here, inside, stdin, pipes
        texts = self._texts or [printed]
        if self._output_partial or (self._texts and not is_single_command(part.body)):
            texts = [printed, UNKNOWN]
        self._texts, self._output_partial = before
        if part.kind == "|":
            return [printed]
        if part.kind in "${":
            return list(dict.fromkeys(each.replace("\0", "").rstrip("\n") for each in texts))
        state.files[path], self._pipe_ends[path] = printed, pipe
        return [path]

    def _in_current_shell(self, part: Substitution, state: State, stdin: str | None) -> str:
        """Follow commands in this shell itself. Return what `${ …; }` prints, or the private REPLY of `${| …; }`.

        They may also not run at all, as in `${x:-${ …; }}`.
        """
        before, functions, cwd, files = state.variables, state.functions, state.cwd, state.files.checkpoint()
        inner = state.variables = Variables(before)
        printed = self.block(part.body, state, stdin)
        state.variables = before
        if part.kind == "|":
            replies = inner.own.pop("REPLY", None) or [UNKNOWN]
            printed = replies[0] if len(replies) == 1 and isinstance(replies[0], str) else UNKNOWN
        state.files.mark_uncertain(files)
        self.charge(before.merge(inner, stays=True))
        state.mark_uncertain(functions)
        state.cwd_certain = state.cwd_certain and state.cwd == cwd
        return printed

    def in_subshell(self, block: Block, state: State, stdin: str | None) -> str:
        """Follow a block in a subshell, which runs its traps when it exits."""
        inner, before = state.fork(), len(self._traps)
        printed = self.block(block, inner, stdin)
        self.run_traps(before, inner)
        return printed

    def add_trap(self, command: Command, text: str, state: State) -> None:
        """Register a trap, and follow it as if it ran at once. `run_traps` follows it with the variables at exit."""
        known: set[tuple[object, ...]] = set()
        first, files = len(self.script.commands), state.files.checkpoint()
        self.run_text(command, text, state.fork())
        state.files.mark_uncertain(files)
        drop_known(self.script.commands, first, known)
        self._traps.append((command, text, known, self.cd_count))

    def run_traps(self, first: int, state: State) -> None:
        """Follow and remove the traps from index `first` on; traps that they set in turn are only removed."""
        for command, text, known, moves in self._traps[first:]:
            before, inner, files = len(self.script.commands), state.fork(), state.files.checkpoint()
            inner.cwd_certain = inner.cwd_certain and self.cd_count == moves  # it may run in any directory in between
            self.run_text(command, text, inner)
            state.files.mark_uncertain(files)
            drop_known(self.script.commands, before, known)
        del self._traps[first:]

    def expand_again(self, text: str, state: State) -> str:
        """Expand a text once more, as between double quotes."""
        if "$" not in text and "`" not in text:
            return text
        try:
            body = expansion(to_source(text))
        except BashSyntaxError:
            return UNKNOWN
        except (TooDeep, RecursionError):
            self.give_up("it is nested too deeply")
            return UNKNOWN
        here, before = self._list_start, self._inside
        self._inside = before or (here.start, here.end)
        printed = Expander(state, self).text(body)
        self._list_start, self._inside = here, before
        return printed

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
        if not argv or self.script.gave_up:
            return stdin or UNKNOWN
        command = Command(argv, parent.start, parent.end, cwd=state.cwd, home=state.home)
        command.cwd_certain = state.cwd_certain
        command.stdin = parent.stdin if stdin is None else stdin
        if parent.certain_args < MAX_ARGUMENTS:
            command.certain_args = _certain_prefix(argv[1:])
        return self._run_nested(parent, lambda: self._run(command, state, functions=functions))

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
    ) -> str:
        """Follow a text that a shell executes; return what it prints.

        `arguments`: its positional parameters; None: those around it. `zero`: its `$0`. `alias`: the alias it is from.
        """
        if parent.script is None:
            parent.script = text
        if not self.charge(COST_PARSE_CHAR * len(text)):
            return UNKNOWN
        if self._dropped_text and TOO_LONG in text:
            self.give_up(TOO_LONG_REASON)
        marked, text = text, to_source(text).replace("\0", "")
        inner = state.fork() if arguments is not None else state
        if arguments is not None:
            firm = _certain_prefix(arguments) if parent.certain_args < MAX_ARGUMENTS else MAX_ARGUMENTS
            inner.arguments, inner.nonempty_args, inner.arg0 = (
                (PositionalArguments(tuple(arguments), firm),),
                frozenset(),
                zero,
            )
            inner.in_find_loop = inner.in_find_loop or any(ALL_FOUND in each for each in arguments)
        if has_glob(marked) and ("'" in text or '"' in text):  # a matching name, between quotes
            self.run_text(parent, _GLOBS.sub(UNKNOWN_NONEMPTY, marked), inner.fork(), stdin=stdin)

        def run() -> str:
            before = self._inside
            at = self.script.text.find(text, parent.start, parent.end) if before is None else -1
            if at < 0:
                self._inside = before or (parent.start, parent.end)
            known = self._parsed.get((text, at))
            block, broken = known or parse(text, (lambda position: at + position) if at >= 0 else None)
            if known is None and len(text) <= self._parsed_chars_left:
                self._parsed_chars_left -= len(text)
                self._parsed[text, at] = block, broken
            if broken:
                self.script.maybe_syntax_error = True
                if parent.name in _READERS and is_fully_known(text):
                    self.script.syntax_error = True
            traps, aliases = len(self._traps), self._aliases
            self._aliases = (*aliases, alias) if alias else ()
            printed = self.block(block, inner, stdin)
            self._aliases = aliases
            if inner is not state and parent.name not in _SAME_SHELL:
                self.run_traps(traps, inner)
            self._inside = before
            return printed

        return self._run_nested(parent, run)

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
        self._output_partial = True
        return self.keep_if_short("".join(printed))

    def substitute_marker(self, words: tuple[str, ...], mark: str, text: str) -> tuple[str, ...]:
        """Replace a marker in words by a text; if that exceeds the budget, return only the first word."""
        size = sum(len(word) + word.count(mark) * len(text) for word in words)
        return tuple(word.replace(mark, text) for word in words) if self.charge(size) else words[:1]

    def _run_nested(self, parent: Command, run: Callable[[], str]) -> str:
        if self.depth >= MAX_NESTING:
            self.give_up(f"more than {MAX_NESTING} wrappers stand inside each other")
            return UNKNOWN
        before, self._parent = self._parent, parent
        self.depth += 1
        try:
            return run()
        finally:
            self.depth -= 1
            self._parent = before

    def run_env_code(self, name: str, value: str, state: State, command: Command | None = None) -> None:
        """Follow a value of an environment variable that is code."""
        if is_expanded(name):
            path = self.expand_again(value, state)
            if command is not None:
                self.read_file(command, state.path(path), state)
        elif function := function_name(name):
            self.block(parse(f"{function} {value}", lambda _: 0)[0], state, None)
        elif is_command(name):
            parent = command or Command((f"{name}={value}",), 0, len(self.script.text), cwd=state.cwd, home=state.home)
            script, inside = parent.script, self._inside
            self._inside = inside or (parent.start, parent.end)
            self.run_text(parent, value.lstrip("|!"), state.fork())
            parent.script, self._inside = script, inside


def _certain_prefix(arguments: Sequence[str]) -> int:
    """Return the number of arguments before the first that is not known; -1 if all are known.

    For arguments of a command with an uncertain one. If all are known, that one came before them, and all may move.
    """
    return next((index for index, each in enumerate(arguments) if not is_literal(each)), -1)


def is_single_command(body: Block) -> bool:
    """Tell whether a block is a single simple command."""
    only = body.only_item
    return only is not None and isinstance(only.node, SimpleCommand)


def _is_repositioned(body: Block) -> bool:
    """Tell whether a block was not read from its place in the script: nested backquotes, a `<<-` document."""
    node = body.statements[0].items[0].node if body.statements else None
    node = node.stages[0] if isinstance(node, Pipeline) else node
    return isinstance(node, SimpleCommand) and node.start >= node.end
