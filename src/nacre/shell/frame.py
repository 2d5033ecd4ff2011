"""The surroundings of a command while a script is followed.

They are passed down and never changed, so there is nothing to restore.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nacre.shell.command import Command


class SubstitutionOutput:
    """The output of a substitution, beyond the one text that following its commands returns."""

    __slots__ = ("partial", "texts")

    def __init__(self) -> None:
        self.texts: list[str] = []
        """The texts that may be printed, if there are several."""
        self.partial = False
        """Whether only a part of the text may be printed."""


class Frame:
    """The surroundings of a command."""

    __slots__ = (
        "aliases",
        "depth",
        "in_second_round",
        "operator",
        "output",
        "parent",
        "pipes",
        "span",
        "stdin",
    )  # fmt: skip

    def __init__(self) -> None:
        self.parent: Command | None = None
        """The command that runs it; `depth`: how many do so in turn."""
        self.depth = 0
        self.span: tuple[int, int] | None = None
        """Span to report for text that is not in the script verbatim; None in other text."""
        self.stdin: str | None = None
        """As in `Command.stdin`, before redirections; the substitutions in its words have the same."""
        self.pipes = (0, 0)
        """Its `pipe_in` and `pipe_out`."""
        self.operator = ""
        """As in `Command.operator_before`."""
        self.aliases: tuple[str, ...] = ()
        """Aliases whose text is being read: in that text, and in no other, they are ordinary words."""
        self.output: SubstitutionOutput | None = None
        """Output of the substitution around it; None if there is none."""
        self.in_second_round = False
        """Whether the body of a loop around it is being followed for the second time."""

    def _child(self) -> Frame:
        child = Frame.__new__(Frame)  # no __init__: all fields are set here, and each stage of a pipe gets a frame
        child.parent, child.depth, child.span, child.stdin = self.parent, self.depth, self.span, self.stdin
        child.pipes, child.operator, child.aliases = self.pipes, self.operator, self.aliases
        child.output, child.in_second_round = self.output, self.in_second_round
        return child

    def with_parent(self, parent: Command | None) -> Frame:
        """Return the frame of a command that another one runs; without another, one in which none is seen to do so."""
        child = self._child()
        child.parent = parent
        child.depth += parent is not None
        return child

    def with_span(self, start: int, end: int) -> Frame:
        """Return a frame for text that is not in the script, or this one if it is such a frame."""
        if self.span is not None:
            return self
        child = self._child()
        child.span = start, end
        return child

    def with_text(self, stdin: str | None, aliases: tuple[str, ...]) -> Frame:
        """Return a frame for the text of a shell or an alias."""
        child = self._child()
        child.stdin, child.aliases = stdin, aliases
        return child

    def with_stdin(self, stdin: str | None) -> Frame:
        if stdin is self.stdin:
            return self
        child = self._child()
        child.stdin = stdin
        return child

    def with_pipes(self, pipes: tuple[int, int], stdin: str | None) -> Frame:
        """Return a frame with these pipes. `stdin`: the text in the first of them, as far as known."""
        child = self._child()
        child.pipes, child.stdin = pipes, stdin
        return child

    def with_operator(self, operator: str) -> Frame:
        if operator == self.operator:
            return self
        child = self._child()
        child.operator = operator
        return child

    def with_output(self, output: SubstitutionOutput, pipe: int) -> Frame:
        """Return a frame for the commands of a substitution. `pipe`: the one that they write to."""
        child = self._child()
        child.output, child.pipes = output, (self.pipes[0], pipe)
        return child

    def for_second_round(self) -> Frame:
        child = self._child()
        child.in_second_round = True
        return child

    def mark_partial(self) -> None:
        """Note that the substitution around it, if there is one, may print only a part of its output."""
        if self.output is not None:
            self.output.partial = True


TOP = Frame()
"""The frame of a script's own commands."""
