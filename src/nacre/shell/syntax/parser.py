"""Parse bash source into a tree, by bash's own grammar. Runs nothing; linear in the text, bounded in its stack.

bash executes a script line by line and meets a syntax error only when it gets there. So does `parse`: commands before
an error are read; after it, each fragment that is a command on its own. The second result reports the error.

A `Reader` is a position in a text. The functions that read from it are in one module each for words, expansions,
tokens, simple and compound commands; those that a lower module needs from a higher one are methods, and so are lists.
"""

from __future__ import annotations

import contextlib
import re

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.syntax.compound import read_command, read_function
from nacre.shell.syntax.expansions import read_backquotes, read_body, read_dollar, read_process_substitution
from nacre.shell.syntax.lexer import (
    expect_word,
    peek_reserved_word,
    read_documents,
    read_operator,
    read_substituted,
    skip_blanks,
    skip_lines,
)
from nacre.shell.syntax.nodes import AndOr, Block, ListItem, Node, Part, Pipeline, Redirect, SimpleCommand, Word
from nacre.shell.syntax.simple import read_literal_command
from nacre.shell.syntax.words import MAX_NESTING, BashSyntaxError, PositionMap, TooDeep

__all__ = ["TooDeep", "expansion", "parse"]

_CLOSERS = frozenset("then elif else fi do done esac } ) ;; ;& ;;&".split())
_BEFORE_COMMANDS = frozenset(["if", "then", "elif", "else", "while", "until", "do"])
_TIME_OPTION = lazy_regex(r"-(?:p|-)(?=[ \t\n;&|]|\Z)")
_PIECE = lazy_regex(
    r"""(?:[^\\'"`;&|(){}\n]|\\.|'[^']*(?:'|\Z)|"(?:[^"\\]|\\.)*(?:"|\Z)|`(?:[^`\\]|\\.)*(?:`|\Z))+""", re.S
)


def parse(text: str, origin: PositionMap | None = None) -> tuple[Block, bool]:
    """Return the commands of a text, and whether bash would report a syntax error. Raises TooDeep, nothing else."""
    return Reader(text, origin or _same_position).read_script()


def expansion(text: str) -> Word:
    """Parse a text that bash expands as it does between double quotes.

    If an expansion has a syntax error, the readable commands from there on form its last part. Raises TooDeep.
    """
    return read_body(Reader(text, _same_position))


def _same_position(position: int) -> int:
    return position


class _Place:
    """The place of a text in the original source."""

    __slots__ = ("base", "exact", "top")

    def __init__(self, top: PositionMap, base: int, *, exact: bool) -> None:
        self.top = top
        """Maps a position in the outermost text."""
        self.base = base
        """Position there at which the text begins."""
        self.exact = exact
        """True if it contains the text verbatim."""

    def locate(self, start: int, *, same: bool) -> _Place:
        """Return the place of a part of the text that begins at `start`. `same`: the text contains it verbatim."""
        return _Place(self.top, self.base + (start if self.exact else 0), exact=self.exact and same)


class Reader:
    """A position in a text, and what has to be known to read on from there."""

    after = 0
    """Position after the reserved word that was peeked last."""
    unquoted = False
    """Whether this is the text of a here-document, in which a single quote is a plain character."""
    closer = ""
    """Ends the substitution whose commands are being read: `)`, or `}`, which may be joined to the text after it."""
    parentheses: dict[int, int] | None = None
    """Position of the closing parenthesis for each opening one that arithmetic was sought in; -1 if there is none."""
    offset = 0
    """Added to a position to get its key in `parentheses`, which an expression shares with the text around it."""
    line = 0, 0
    """Start of the line that is being read, and the number of statements before it."""
    can_recover = True
    """Whether to look for fragments after an error. Not in a fragment itself: each would be read again and again."""

    def __init__(self, text: str, origin: PositionMap, place: _Place | None = None, depth: int = 0) -> None:
        self.text = text
        self.pos = 0
        self.size = len(text)
        self.origin = origin
        self.place = place or _Place(origin, 0, exact=True)
        self.depth = depth
        self.has_continuations = "\\\n" in text
        self.pending: list[tuple[Redirect, str]] = []
        """Here-documents whose bodies have not been read yet, with their delimiters."""

    def enter(self) -> None:
        """Note that a nested construct begins; at its end, `depth` is lowered again."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise TooDeep

    def skip_continuations(self, position: int) -> int:
        """Return the position after any line continuations."""
        while self.text.startswith("\\\n", position):
            position += 2
        return position

    def inner(self, text: str, start: int, *, same: bool = True) -> Reader:
        """Return a reader for the text at `start`. `same`: the source contains it verbatim there."""
        place = self.place.locate(start, same=same)
        top, base = place.top, place.base
        origin = (lambda position: top(base + position)) if place.exact else (lambda _: top(base))
        reader = Reader(text, origin, place, self.depth)
        reader.can_recover = self.can_recover
        return reader

    # what words and commands need from the modules above theirs

    def read_dollar(self, parts: list[Part], *, quoted: bool) -> None:
        """Read an expansion that begins with `$`."""
        read_dollar(self, parts, quoted=quoted)

    def read_backquotes(self, *, quoted: bool) -> Part:
        """Read a command substitution in backquotes."""
        return read_backquotes(self, quoted=quoted)

    def read_process_substitution(self, parts: list[Part]) -> bool:
        """Read a process substitution if there is one at this `<` or `>`; return whether there was."""
        return read_process_substitution(self, parts)

    def read_substituted(self, closer: str) -> Block:
        """Read the commands of a substitution, up to `closer`."""
        return read_substituted(self, closer)

    def read_function(self, start: int, name: Word) -> Node:
        """Read the body of a function whose name and `()` have been read."""
        return read_function(self, start, name)

    # whole texts

    def read_script(self) -> tuple[Block, bool]:
        """Read a script. Return its commands, and whether it has a syntax error."""
        block = Block()
        self.line = skip_lines(self), 0
        try:
            self.read_statements(block, lines=True)
            if self.pos < self.size:
                raise BashSyntaxError
            read_documents(self)
        except BashSyntaxError:
            if self.can_recover:
                start, before = self.line
                del block.statements[before:]
                block.statements += self.recover(start).statements
            return block, True
        return block, False

    def read_all(self) -> Block:
        """Read the whole text: commands up to a syntax error, then the readable fragments."""
        return self.read_script()[0]

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
                while skip_lines(inner) < inner.size and peek_reserved_word(inner) in _BEFORE_COMMANDS:
                    inner.pos = inner.after
                inner.read_statements(piece)
            block.statements += piece.statements
        return block

    # lists and pipelines

    def read_block(self, closer: str, *, empty: bool = False) -> Block:
        """Read commands up to `closer`, and `closer`."""
        block = Block()
        self.read_statements(block, closer)
        if not block.statements and not empty:
            raise BashSyntaxError
        expect_word(self, closer)
        return block

    def read_statements(self, block: Block, *closers: str, lines: bool = False) -> None:
        """Read commands to the end or to one of the closers, which is not consumed. `lines`: note where lines begin."""
        operator = ";"
        while True:
            if lines and operator == ";":
                skip_blanks(self)
                if self.text.startswith("\n", self.pos):
                    self.line = skip_lines(self), len(block.statements)
                start = self.pos
            else:
                start = skip_lines(self)
            keyword = ""
            if fixed := read_literal_command(self):
                node = self._read_stages(fixed, start)
            else:
                keyword = peek_reserved_word(self)
                if self.pos >= self.size or keyword in _CLOSERS:
                    if operator != ";" or (keyword and keyword not in closers):
                        raise BashSyntaxError
                    return
                node = self.read_pipeline(keyword) if keyword else self._read_stages(read_command(self, ""), start)
            item: ListItem
            if operator == ";":
                item = statement = AndOr(node)
                block.statements.append(statement)
            else:
                item = ListItem(node, operator)
                block.statements[-1].join(item)
            if keyword == "!":
                item.negated = True
            operator = self._read_separator(item)
            if not operator:
                return

    def _read_separator(self, item: ListItem) -> str:
        """Read the separator after a pipeline. Return the operator before the next one; "" if there can be none."""
        if self.text.startswith("\n", self.pos):
            return ";"
        before, found = self.pos, read_operator(self)
        if found in ("&&", "||", ";"):
            return found
        if found == "&":
            item.background = True
            return ";"
        self.pos = before
        return ";" if found in (")", ";;", ";&", ";;&") else ""

    def read_pipeline(self, keyword: str) -> Node:
        start = self.pos
        while keyword in ("!", "time"):
            self.pos = self.after
            skip_blanks(self)
            while keyword == "time" and (found := _TIME_OPTION.match(self.text, self.pos)):
                self.pos = found.end()
                skip_blanks(self)
            if self.pos >= self.size or self.text[self.pos] in ";\n)&|":
                return SimpleCommand(self.origin(start))
            keyword = peek_reserved_word(self)
        return self._read_stages(read_command(self, keyword), start)

    def _read_stages(self, first: Node, start: int) -> Node:
        """Read the stages that a command is piped into. Return the pipeline, or the command if there are none."""
        if not self.text.startswith("|", self.pos):
            return first
        stages = [first]
        while self._take_pipe(stages[-1]):
            skip_lines(self)
            stages.append(read_literal_command(self) or read_command(self, peek_reserved_word(self)))
        if len(stages) == 1:
            return first
        pipeline = Pipeline(self.origin(start), stages)
        pipeline.end = self.origin(self.pos)
        return pipeline

    def _take_pipe(self, node: Node) -> bool:
        """Read `|` or `|&`, which is short for `2>&1 |`; return whether there was one."""
        before, operator = self.pos, read_operator(self)
        if operator == "|&":
            node.redirect(Redirect("2", ">&", Word(None, "1")))
        elif operator != "|":
            self.pos = before
        return operator in ("|", "|&")
