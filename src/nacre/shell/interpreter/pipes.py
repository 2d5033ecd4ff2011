"""Data flow: pipes between commands, redirections, and files that remember what was written to them."""

from __future__ import annotations

from nacre.shell.command import Command, Redirection
from nacre.shell.frame import Frame
from nacre.shell.interpreter.budget import MAX_COMMANDS, Budget
from nacre.shell.interpreter.expand import Expander
from nacre.shell.interpreter.state import State
from nacre.shell.symbolic import DOWNLOADED, UNKNOWN, is_fully_known
from nacre.shell.syntax.nodes import Node, Redirect, Substitution


class Pipes:
    """Numbers the pipes of a script, and follows redirections."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._numbers: dict[tuple[Node | Substitution, tuple[int, int]], int] = {}
        """First pipe that a node makes, by the node and the pipes around it: followed again there, it is the same."""
        self._count = 0
        """Number of pipes so far."""
        self.ends: dict[str, int] = {}
        """Pipes that have a path: those of `<(…)` and `>(…)`."""
        self.coprocess = (0, 0)
        """Pipes to and from the last coprocess; their descriptors are not known."""

    def add(self, made_by: Node | Substitution, many: int, outer: tuple[int, int]) -> int:
        """Return the number of the first of `many` new, consecutive pipes. `outer`: the pipes of its frame."""
        first = self._numbers.get((made_by, outer))
        if first is None:
            first = self._count + 1
            self._count += many
            if len(self._numbers) < MAX_COMMANDS:
                self._numbers[made_by, outer] = first
        return first

    def redirect(self, redirects: tuple[Redirection, ...], pipes: tuple[int, int]) -> tuple[int, int]:
        """Return the pipes of a command with these redirections, which has `pipes` without them."""
        pipe_in, pipe_out = pipes
        for opened in redirects:
            if opened.operator in ("<&", ">&") and not is_fully_known(opened.target):
                to, back = self.coprocess
            else:
                to = back = self.ends.get(opened.target, 0)
            if opened.operator in ("<", "<&"):
                pipe_in = back or pipe_in
            else:
                pipe_out = to or pipe_out
        return pipe_in, pipe_out

    def content(self, path: str, state: State, frame: Frame) -> str | None:
        """Return the content of a file that the script has written (all that it may have); None for other files."""
        texts = state.files.contents(path)
        if len(texts) < 2:
            return texts[0] if texts else None
        frame.mark_partial()
        return self._budget.keep_if_short("\n".join(text.removesuffix("\n") for text in texts) + "\n")

    def open_redirects(
        self, redirects: list[Redirect] | tuple[()], expander: Expander, stdin: str | None
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
                    held = self.content(expander.state.path(target), expander.state, expander.frame)
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
                state.files.put(path, tuple(map(self._budget.keep_if_short, texts or (printed,))))
                self._budget.charge(sum(map(len, before)) >> 6)
                printed = ""
        return printed
