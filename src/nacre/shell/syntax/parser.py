"""Parse bash source into a tree, by bash's own grammar. Runs nothing; linear in the text, bounded in its stack.

bash executes a script line by line and meets a syntax error only when it gets there. So does `parse`: commands before
an error are read; after it, each fragment that is a command on its own. The second result reports the error.

The reader is a chain of classes, each in its own module: words, expansions, lexer, simple and compound commands, lists.
"""

from __future__ import annotations

import contextlib
import re

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.syntax.compound import CompoundReader
from nacre.shell.syntax.nodes import AndOr, Block, ListItem, Node, Pipeline, Redirect, SimpleCommand, Word
from nacre.shell.syntax.words import BashSyntaxError, PositionMap, TooDeep

__all__ = ["TooDeep", "expansion", "parse"]

_CLOSERS = frozenset("then elif else fi do done esac } ) ;; ;& ;;&".split())
_BEFORE_COMMANDS = frozenset(["if", "then", "elif", "else", "while", "until", "do"])
_TIME_OPTION = lazy_regex(r"-(?:p|-)(?=[ \t\n;&|]|\Z)")
_PIECE = lazy_regex(
    r"""(?:[^\\'"`;&|(){}\n]|\\.|'[^']*(?:'|\Z)|"(?:[^"\\]|\\.)*(?:"|\Z)|`(?:[^`\\]|\\.)*(?:`|\Z))+""", re.S
)


def parse(text: str, origin: PositionMap | None = None) -> tuple[Block, bool]:
    """Return the commands of a text, and whether bash would report a syntax error. Raises TooDeep, nothing else."""
    return _Reader(text, origin or _same_position).script()


def expansion(text: str) -> Word:
    """Parse a text that bash expands as it does between double quotes.

    If an expansion has a syntax error, the readable commands from there on form its last part. Raises TooDeep.
    """
    return _Reader(text, _same_position).body()


def _same_position(position: int) -> int:
    return position


class _Reader(CompoundReader):
    _base = 0
    """Position of this text in the original source."""
    _exact = True
    """Whether the source contains it verbatim there."""
    _line = 0, 0
    """Start of the line that is being read, and the number of statements before it."""
    can_recover = True
    """Whether to look for fragments after an error. Not in a fragment itself: each would be read again and again."""

    def __init__(self, text: str, origin: PositionMap, depth: int = 0) -> None:
        super().__init__(text, origin, depth)
        self._top = origin

    # whole texts

    def script(self) -> tuple[Block, bool]:
        block = Block()
        self._line = self.skip_lines(), 0
        try:
            self.statements(block, lines=True)
            if self.pos < self.size:
                raise BashSyntaxError
            self.bodies()
        except BashSyntaxError:
            if self.can_recover:
                start, before = self._line
                del block.statements[before:]
                block.statements += self.recover(start).statements
            return block, True
        return block, False

    def read_all(self) -> Block:
        return self.script()[0]

    def recover(self, start: int) -> Block:
        """Read the fragments from `start` on that are commands on their own, as the text as a whole is not."""
        block = Block()
        if not self.can_recover:
            return block
        for found in _PIECE.finditer(self.text, start):
            if found.group().isspace():
                continue
            inner = self.inner(found.group(), found.start())
            inner.can_recover = False
            piece = Block()
            with contextlib.suppress(BashSyntaxError):
                while inner.skip_lines() < inner.size and inner.peek_reserved_word() in _BEFORE_COMMANDS:
                    inner.pos = inner._after
                inner.statements(piece)
            block.statements += piece.statements
        return block

    def inner(self, text: str, start: int, *, same: bool = True) -> _Reader:
        base, top = self._base + (start if self._exact else 0), self._top
        exact = self._exact and same
        reader = _Reader(text, (lambda position: top(base + position)) if exact else (lambda _: top(base)), self.depth)
        reader._top, reader._base, reader._exact = top, base, exact
        reader.can_recover = self.can_recover
        return reader

    # lists and pipelines

    def block_until(self, closer: str, *, empty: bool = False) -> Block:
        block = Block()
        self.statements(block, closer)
        if not block.statements and not empty:
            raise BashSyntaxError
        self.expect(closer)
        return block

    def statements(self, block: Block, *closers: str, lines: bool = False) -> None:
        """Read commands to the end or to one of the closers, which is not consumed. `lines`: note where lines begin."""
        operator = ";"
        while True:
            if lines and operator == ";":
                self.skip_blanks()
                if self.text.startswith("\n", self.pos):
                    self._line = self.skip_lines(), len(block.statements)
                start = self.pos
            else:
                start = self.skip_lines()
            if fixed := self.read_literal_command():
                item = ListItem(self._stages(fixed, start))
            else:
                keyword = self.peek_reserved_word()
                if self.pos >= self.size or keyword in _CLOSERS:
                    if operator != ";" or (keyword and keyword not in closers):
                        raise BashSyntaxError
                    return
                item = ListItem(self.pipeline(keyword) if keyword else self._stages(self.command(""), start))
                item.negated = keyword == "!"
            if operator == ";":
                block.statements.append(AndOr(item))
            else:
                item.operator = operator
                block.statements[-1].items.append(item)
            operator = self._separator(item)
            if not operator:
                return

    def _separator(self, item: ListItem) -> str:
        """Read the separator after a pipeline. Return the operator before the next one; "" if there can be none."""
        if self.text.startswith("\n", self.pos):
            return ";"
        before, found = self.pos, self.operator()
        if found in ("&&", "||", ";"):
            return found
        if found == "&":
            item.background = True
            return ";"
        self.pos = before
        return ";" if found in (")", ";;", ";&", ";;&") else ""

    def pipeline(self, keyword: str) -> Node:
        start = self.pos
        while keyword in ("!", "time"):
            self.pos = self._after
            self.skip_blanks()
            while keyword == "time" and (found := _TIME_OPTION.match(self.text, self.pos)):
                self.pos = found.end()
                self.skip_blanks()
            if self.pos >= self.size or self.text[self.pos] in ";\n)&|":
                return SimpleCommand(self.origin(start))
            keyword = self.peek_reserved_word()
        return self._stages(self.command(keyword), start)

    def _stages(self, first: Node, start: int) -> Node:
        """Read the stages that a command is piped into. Return the pipeline, or the command if there are none."""
        if not self.text.startswith("|", self.pos):
            return first
        stages = [first]
        while self._take_pipe(stages[-1]):
            self.skip_lines()
            stages.append(self.read_literal_command() or self.command(self.peek_reserved_word()))
        if len(stages) == 1:
            return first
        pipeline = Pipeline(self.origin(start), stages)
        pipeline.end = self.origin(self.pos)
        return pipeline

    def _take_pipe(self, node: Node) -> bool:
        """Read `|` or `|&`, which is short for `2>&1 |`; return whether there was one."""
        before, operator = self.pos, self.operator()
        if operator == "|&":
            node.redirect(Redirect("2", ">&", Word(None, "1")))
        elif operator != "|":
            self.pos = before
        return operator in ("|", "|&")
