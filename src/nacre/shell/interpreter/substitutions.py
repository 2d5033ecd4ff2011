"""Follow the commands inside words: substitutions, and texts that bash expands once more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nacre.shell.command import Command
from nacre.shell.frame import Frame, SubstitutionOutput
from nacre.shell.interpreter.expand import Expander
from nacre.shell.interpreter.state import State
from nacre.shell.symbolic import UNKNOWN, to_source
from nacre.shell.syntax.nodes import Block, Node, Pipeline, SimpleCommand, Substitution
from nacre.shell.syntax.parser import expansion
from nacre.shell.syntax.words import BashSyntaxError, TooDeep
from nacre.shell.values.variables import Variables

if TYPE_CHECKING:
    from nacre.shell.interpreter.interpreter import Interpreter


class Substitutions:
    """Follows substitutions; those of the kind `>(…)` when their input has been written."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._waiting: list[tuple[str, Block, int]] = []
        """Path, commands and pipe of each `>(…)` whose input has not been written yet."""

    @property
    def waiting(self) -> int:
        """Number of `>(…)` whose input has not been written yet."""
        return len(self._waiting)

    def substitute(self, part: Substitution, expander: Expander) -> list[str]:
        """Follow the commands of a substitution; return the texts that it may expand to."""
        interpreter, state, outer = self._interpreter, expander.state, expander.frame
        interpreter.budget.note_unknown("$(…)")
        path = f"/dev/fd/{63 + len(state.files)}"
        pipe = interpreter.pipes.add(part, 1, outer.pipes) if part.kind in "<>" else 0
        if part.kind == ">":
            state.files[path] = ""
            self._waiting.append((path, part.body, pipe))
            interpreter.pipes.ends[path] = pipe
            return [path]
        output = SubstitutionOutput()
        frame = outer.with_output(output, pipe)
        if _is_repositioned(part.body):
            frame = frame.with_span(expander.at.start, expander.at.end)
        if part.kind in "{|":
            printed = self._in_current_shell(part, state, frame)
        else:
            printed = interpreter.scripts.in_subshell(part.body, state, frame)
        texts = output.texts or [printed]
        if output.partial or (output.texts and not is_single_command(part.body)):
            texts = [printed, UNKNOWN]
        if part.kind == "|":
            return [printed]
        if part.kind in "${":
            return list(dict.fromkeys(each.replace("\0", "").rstrip("\n") for each in texts))
        state.files[path], interpreter.pipes.ends[path] = printed, pipe
        return [path]

    def _in_current_shell(self, part: Substitution, state: State, frame: Frame) -> str:
        """Follow commands in this shell itself. Return what `${ …; }` prints, or the private REPLY of `${| …; }`.

        They may also not run at all, as in `${x:-${ …; }}`.
        """
        before, functions, cwd, files = state.variables, state.functions.bodies, state.cwd, state.files.checkpoint()
        inner = state.variables = Variables(before)
        printed = self._interpreter.block(part.body, state, frame)
        state.variables = before
        if part.kind == "|":
            replies = inner.own.pop("REPLY", None) or [UNKNOWN]
            printed = replies[0] if len(replies) == 1 and isinstance(replies[0], str) else UNKNOWN
        state.files.mark_uncertain(files)
        self._interpreter.budget.charge(before.merge(inner, stays=True))
        state.mark_uncertain(functions)
        state.cwd_certain = state.cwd_certain and state.cwd == cwd
        return printed

    def run_waiting(self, first: int, state: State, frame: Frame) -> None:
        """Follow the commands of each `>(…)` from index `first` on; they read what was written to it."""
        while len(self._waiting) > first:
            path, body, pipe = self._waiting.pop()
            inner = frame.with_pipes((pipe, frame.pipes[1]), state.files.get(path) or None)
            self._interpreter.block(body, state.fork(), inner)

    def expand_again(self, text: str, state: State, frame: Frame, at: Node | Command) -> str:
        """Return a text after bash expands it once more, as between double quotes (`${x@P}`, a subscript).

        `at`: the command that does so.
        """
        if "$" not in text and "`" not in text:
            return text
        try:
            body = expansion(to_source(text))
        except BashSyntaxError:
            return UNKNOWN
        except (TooDeep, RecursionError):
            self._interpreter.budget.give_up("it is nested too deeply")
            return UNKNOWN
        return Expander(state, self._interpreter, frame.with_span(at.start, at.end), at).text(body)


def is_single_command(body: Block) -> bool:
    """Tell whether a block is a single simple command."""
    only = body.only_item
    return only is not None and isinstance(only.node, SimpleCommand)


def _is_repositioned(body: Block) -> bool:
    """Tell whether a block was not read from its place in the script: nested backquotes, a `<<-` document."""
    node = body.statements[0].node if body.statements else None
    node = node.stages[0] if isinstance(node, Pipeline) else node
    return isinstance(node, SimpleCommand) and node.start >= node.end
