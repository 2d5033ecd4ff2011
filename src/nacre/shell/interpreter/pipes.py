"""Data flow: pipes between commands, redirections, and files that remember what was written to them."""

from __future__ import annotations

from abc import ABC, abstractmethod

from nacre.shell.command import Command, Redirection, Script
from nacre.shell.interpreter.budget import MAX_COMMANDS, Budget
from nacre.shell.interpreter.expand import Expander
from nacre.shell.interpreter.state import State
from nacre.shell.symbolic import DOWNLOADED, UNKNOWN, is_fully_known
from nacre.shell.syntax.nodes import Block, Node, Redirect, Substitution


class Pipes(Budget, ABC):
    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self._stdin: str | None = None
        """Standard input of the command that is being followed; the substitutions in its words have the same."""
        self._pipes = (0, 0)
        """Its `pipe_in` and `pipe_out`."""
        self._numbers: dict[tuple[Node | Substitution, tuple[int, int]], int] = {}
        """First pipe that a node makes, by the node and the pipes around it: followed again there, it is the same."""
        self._piped = 0
        """Number of pipes so far."""
        self._pipe_ends: dict[str, int] = {}
        """Pipes that have a path: those of `<(…)` and `>(…)`."""
        self._coprocess = (0, 0)
        """Pipes to and from the last coprocess; their descriptors are not known."""
        self._pending_sinks: list[tuple[str, Block, int]] = []
        """Path, commands and pipe of each `>(…)` whose input has not been written yet."""
        self._output_partial = False
        """In a substitution: whether it may print only a part of what it seems to print."""

    @abstractmethod
    def block(self, block: Block, state: State, stdin: str | None) -> str:
        """Follow the commands of a block; return what they print."""

    def content(self, path: str, state: State) -> str | None:
        """Return the content of a file that the script has written (all that it may have); None for other files."""
        texts = state.files.contents(path)
        if len(texts) < 2:
            return texts[0] if texts else None
        self._output_partial = True
        return self.keep_if_short("\n".join(text.removesuffix("\n") for text in texts) + "\n")

    def run_pending_sinks(self, first: int, state: State) -> None:
        """Follow the commands of each `>(…)` from index `first` on; they read what was written to it."""
        pipes = self._pipes
        while len(self._pending_sinks) > first:
            path, body, pipe = self._pending_sinks.pop()
            self._pipes = pipe, pipes[1]
            self.block(body, state.fork(), state.files.get(path) or None)
        self._pipes = pipes

    def new_pipes(self, made_by: Node | Substitution, many: int) -> int:
        """Return the number of the first of `many` new, consecutive pipes."""
        first = self._numbers.get((made_by, self._pipes))
        if first is None:
            first = self._piped + 1
            self._piped += many
            if len(self._numbers) < MAX_COMMANDS:
                self._numbers[made_by, self._pipes] = first
        return first

    def _redirected_pipes(self, redirects: tuple[Redirection, ...]) -> tuple[int, int]:
        """Return the pipes of a command with these redirections."""
        pipe_in, pipe_out = self._pipes
        for opened in redirects:
            if opened.operator in ("<&", ">&") and not is_fully_known(opened.target):
                to, back = self._coprocess
            else:
                to = back = self._pipe_ends.get(opened.target, 0)
            if opened.operator in ("<", "<&"):
                pipe_in = back or pipe_in
            else:
                pipe_out = to or pipe_out
        return pipe_in, pipe_out

    def open_redirects(
        self, redirects: list[Redirect], expander: Expander, stdin: str | None
    ) -> tuple[tuple[Redirection, ...], str | None]:
        """Expand redirections. Return them, and the standard input after them."""
        opened = []
        for redirect in redirects:
            match redirect.operator:
                case "<<" | "<<-":
                    text = expander.text(redirect.target)
                case "<<<":
                    text = expander.text(redirect.target) + "\n"
                case _:
                    target = " ".join(expander.fields(redirect.target))
                    opened.append(Redirection(redirect.descriptor, redirect.operator, target))
                    if redirect.operator == "<&":
                        target = f"/dev/fd/{target}"
                    elif redirect.operator not in ("<", "<>"):
                        continue
                    held = self.content(expander.state.path(target), expander.state)
                    from_network = target.startswith(("/dev/tcp/", "/dev/udp/"))
                    text = held if held is not None else DOWNLOADED if from_network else UNKNOWN
            if redirect.descriptor in ("", "0"):
                stdin = text
            else:
                expander.state.files[f"/dev/fd/{redirect.descriptor}"] = text
        return tuple(opened), stdin

    def apply_redirects(self, command: Command, printed: str, state: State) -> str:
        """Return the output that is left to print after redirections; files remember what was written to them."""
        for opened in command.redirects:
            if opened.writes and opened.descriptor in ("", "1") and not opened.target.isdigit():
                path = state.path(opened.target)
                before = state.files.contents(path) if opened.operator in (">>", "&>>") else ()
                texts = [("" if text == UNKNOWN else text) + printed for text in before]
                state.files.put(path, tuple(map(self.keep_if_short, texts or (printed,))))
                self.charge(sum(map(len, before)) >> 6)
                printed = ""
        return printed
