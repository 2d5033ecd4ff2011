"""Read what is between words: blanks, comments, operators, reserved words, redirections and here-documents."""

from __future__ import annotations

import re

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.syntax.expansions import ExpansionReader
from nacre.shell.syntax.nodes import Block, Literal, Node, Redirect, Word
from nacre.shell.syntax.words import BashSyntaxError, PositionMap

_BLANKS = lazy_regex(r"(?:[ \t]|\\\n)*(?:(?<![^ \t\n;&|()<>])#[^\n]*)?")
_LINES = lazy_regex(r"(?:[ \t\n]|\\\n|(?<![^ \t\n;&|()<>])#[^\n]*)*")
_OPERATORS = lazy_regex(r"&&|&>>|&>|&|\|\||\|&|\||;;&|;&|;;|;|<<<|<<-|<<|<&|<>|<|>>|>&|>\||>|\(|\)|\n")
_REDIRECTS = frozenset(("<", ">", ">>", ">|", "<>", "<<", "<<-", "<<<", "<&", ">&", "&>", "&>>"))
DESCRIPTOR = lazy_regex(r"(?:\d+|\{[A-Za-z_]\w*(?:\[[^]\s]*\])?\})(?:\\\n)*(?=[<>])", re.ASCII)
RESERVED_WORDS = (
    r"(?:if|then|elif|else|fi|do|done|case|esac|while|until|for|select|function|time|coproc|in|\{|\}|!|\[\[|\]\])"
)
AFTER_RESERVED = r"(?=[ \t\n;&|()<>]|\Z)"
_RESERVED = lazy_regex(rf"{RESERVED_WORDS}{AFTER_RESERVED}|\(\(|\)|;;&|;;|;&|!(?=\()")
_QUOTES = lazy_regex(r"""\\(.)|['"]""", re.DOTALL)
_MAX_RESERVED_CHARS = len("function") + 1


class LineReader(ExpansionReader):
    _after = 0
    """Position after the reserved word that was peeked last."""
    _substituted = False
    """Whether the commands are in `$(…)`."""
    _braced = False
    """Whether they are in `${ …; }`, whose `}` may be joined to the text after it."""

    def __init__(self, text: str, origin: PositionMap, depth: int = 0) -> None:
        super().__init__(text, origin, depth)
        self._continued = "\\\n" in text
        self._pending: list[tuple[Redirect, str]] = []
        """Here-documents whose bodies have not been read yet, with their delimiters."""

    def require_word(self) -> Word:
        before = self.pos
        word = self.word()
        if self.pos == before:
            raise BashSyntaxError
        return word

    # blanks

    def skip_blanks(self) -> None:
        """Skip blanks, continuations and a comment."""
        if self.pos < self.size and self.text[self.pos] in " \t\\#":
            found = _BLANKS.match(self.text, self.pos)
            assert found is not None
            self.pos = found.end()

    def skip_lines(self) -> int:
        """Skip blanks and newlines; read the bodies of here-documents after these. Return the new position."""
        while self._pending:
            self.skip_blanks()
            if not self.text.startswith("\n", self.pos):
                return self.pos
            self.pos += 1
            self.bodies()
        if self.pos < self.size and self.text[self.pos] in "\n \t\\#":
            found = _LINES.match(self.text, self.pos)
            assert found is not None
            self.pos = found.end()
        return self.pos

    # tokens

    def operator(self) -> str:
        """Read the operator at this position; "" if there is none."""
        found = _OPERATORS.match(self.text, self.pos)
        if not found:
            return ""
        operator, self.pos = found.group(), found.end()
        if operator != "\n" and self.text.startswith("\\\n", self.pos):
            return self._operator_in_lines(operator)
        return operator

    def _operator_in_lines(self, operator: str) -> str:
        """Return the operator, extended by the characters after line continuations."""
        while True:
            after = self._skip_continuations(self.pos)
            longer = operator + self.text[after : after + 1]
            if longer == operator or not _OPERATORS.fullmatch(longer):
                return operator
            operator, self.pos = longer, after + 1

    def peek_reserved_word(self) -> str:
        """Return the reserved word (or operator like one) at this position, not consumed; "" if there is none."""
        if self._continued and self.text.find("\\\n", self.pos, self.pos + _MAX_RESERVED_CHARS) >= 0:
            return self._reserved_in_lines()
        found = _RESERVED.match(self.text, self.pos)
        if not found:
            if self._braced and self.text.startswith("}", self.pos):
                self._after = self.pos + 1
                return "}"
            return ""
        self._after = found.end()
        return found.group()

    def _reserved_in_lines(self) -> str:
        """Return the reserved word at this position, which line continuations may interrupt."""
        ends = [self.pos]
        letters = ""
        while len(letters) <= _MAX_RESERVED_CHARS and ends[-1] < self.size:
            at = self._skip_continuations(ends[-1])
            letters += self.text[at : at + 1]
            ends.append(at + 1)
        found = _RESERVED.match(letters)
        if not found:
            if self._braced and letters.startswith("}"):
                self._after = ends[1]
                return "}"
            return ""
        self._after = ends[found.end()]
        return found.group()

    def take(self, word: str) -> bool:
        self.skip_lines()
        if self.peek_reserved_word() != word:
            return False
        self.pos = self._after
        return True

    def expect(self, word: str) -> None:
        if not self.take(word):
            raise BashSyntaxError

    # redirections

    def redirects(self, node: Node) -> None:
        while True:
            self.skip_blanks()
            if not self.redirect(node):
                return

    def redirect(self, node: Node) -> bool:
        """Read a redirection if there is one at this position; return whether there was."""
        start = self.pos
        found = DESCRIPTOR.match(self.text, start)
        descriptor = found.group() if found else ""
        self.pos += len(descriptor)
        operator = self.operator()
        if operator not in _REDIRECTS:
            self.pos = start
            return False
        self.skip_blanks()
        begin = self.pos
        redirect = Redirect(descriptor.replace("\\\n", ""), operator, self.require_word())
        node.redirect(redirect)
        if operator in ("<<", "<<-"):
            raw = self.text[begin : self.pos].replace("\\\n", "")
            redirect.quoted = any(quote in raw for quote in "\\'\"")
            self._pending.append((redirect, _delimiter(redirect.target, raw)))
        return True

    # here-documents

    def _commands(self, closer: str) -> Block:
        """Read the commands of a substitution. The here-documents of the line around it come after them."""
        self._enter()
        pending, self._pending = self._pending, []
        unquoted, self.unquoted = self.unquoted, False
        before, self._substituted, self._braced = (self._substituted, self._braced), closer == ")", closer == "}"
        body = self.block_until(closer, empty=True)
        self._pending += pending
        self.unquoted, (self._substituted, self._braced) = unquoted, before
        self.depth -= 1
        return body

    def bodies(self) -> None:
        """Read the bodies of the here-documents that were announced on the line that ends here."""
        pending, self._pending = self._pending, []
        for redirect, delimiter in pending:
            start, lines, held = self.pos, [], False
            while self.pos < self.size:
                end = self.text.find("\n", self.pos)
                end = self.size if end < 0 else end
                line = self.text[self.pos : end]
                self.pos = min(end + 1, self.size)
                if redirect.operator == "<<-" and not held:
                    line = line.lstrip("\t")
                if not held and line.startswith(delimiter):
                    rest = line[len(delimiter) :]
                    if not rest:
                        break
                    if self._substituted and ")" in rest:  # bash accepts `E)` as the end of both
                        self.pos = end - len(rest)
                        break
                lines.append(line + "\n")
                backslashes = len(line) - len(line.rstrip("\\"))
                held = not redirect.quoted and backslashes % 2 == 1
            redirect.target = self._document("".join(lines), start, quoted=redirect.quoted)

    def _document(self, text: str, start: int, *, quoted: bool) -> Word:
        same = self.text.startswith(text, start)
        if quoted:
            literal = Literal(text, quoted=True)
            return Word([literal])
        return self.inner(text, start, same=same).body()


def _delimiter(word: Word, raw: str) -> str:
    """Return the word without its quotes. Nothing in it is expanded."""
    plain = [part.text for part in word.parts if isinstance(part, Literal)]
    return "".join(plain) if len(plain) == len(word.parts) else _QUOTES.sub(r"\1", raw)
