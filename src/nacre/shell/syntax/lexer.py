"""Read what is between words: blanks, comments, operators, reserved words, redirections and here-documents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.syntax.expansions import read_body
from nacre.shell.syntax.nodes import Block, Literal, Node, Redirect, Word
from nacre.shell.syntax.words import BashSyntaxError, read_word

if TYPE_CHECKING:
    from nacre.shell.syntax.parser import Reader

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


def require_word(reader: Reader) -> Word:
    before = reader.pos
    word = read_word(reader)
    if reader.pos == before:
        raise BashSyntaxError
    return word


# blanks


def skip_blanks(reader: Reader) -> None:
    """Skip blanks, continuations and a comment."""
    if reader.pos < reader.size and reader.text[reader.pos] in " \t\\#":
        found = _BLANKS.match(reader.text, reader.pos)
        assert found is not None
        reader.pos = found.end()


def skip_lines(reader: Reader) -> int:
    """Skip blanks and newlines; read the bodies of here-documents after these. Return the new position."""
    while reader.pending:
        skip_blanks(reader)
        if not reader.text.startswith("\n", reader.pos):
            return reader.pos
        reader.pos += 1
        read_documents(reader)
    if reader.pos < reader.size and reader.text[reader.pos] in "\n \t\\#":
        found = _LINES.match(reader.text, reader.pos)
        assert found is not None
        reader.pos = found.end()
    return reader.pos


# tokens


def read_operator(reader: Reader) -> str:
    """Read the operator at this position; "" if there is none."""
    found = _OPERATORS.match(reader.text, reader.pos)
    if not found:
        return ""
    operator, reader.pos = found.group(), found.end()
    if operator != "\n" and reader.text.startswith("\\\n", reader.pos):
        return _read_operator_in_lines(reader, operator)
    return operator


def _read_operator_in_lines(reader: Reader, operator: str) -> str:
    """Return the operator, extended by the characters after line continuations."""
    while True:
        after = reader.skip_continuations(reader.pos)
        longer = operator + reader.text[after : after + 1]
        if longer == operator or not _OPERATORS.fullmatch(longer):
            return operator
        operator, reader.pos = longer, after + 1


def peek_reserved_word(reader: Reader) -> str:
    """Return the reserved word (or operator like one) at this position, not consumed; "" if there is none."""
    if reader.has_continuations and reader.text.find("\\\n", reader.pos, reader.pos + _MAX_RESERVED_CHARS) >= 0:
        return _peek_reserved_in_lines(reader)
    found = _RESERVED.match(reader.text, reader.pos)
    if not found:
        if reader.closer == "}" and reader.text.startswith("}", reader.pos):
            reader.after = reader.pos + 1
            return "}"
        return ""
    reader.after = found.end()
    return found.group()


def _peek_reserved_in_lines(reader: Reader) -> str:
    """Return the reserved word at this position, which line continuations may interrupt."""
    ends = [reader.pos]
    letters = ""
    while len(letters) <= _MAX_RESERVED_CHARS and ends[-1] < reader.size:
        at = reader.skip_continuations(ends[-1])
        letters += reader.text[at : at + 1]
        ends.append(at + 1)
    found = _RESERVED.match(letters)
    if not found:
        if reader.closer == "}" and letters.startswith("}"):
            reader.after = ends[1]
            return "}"
        return ""
    reader.after = ends[found.end()]
    return found.group()


def take_word(reader: Reader, word: str) -> bool:
    skip_lines(reader)
    if peek_reserved_word(reader) != word:
        return False
    reader.pos = reader.after
    return True


def expect_word(reader: Reader, word: str) -> None:
    if not take_word(reader, word):
        raise BashSyntaxError


# redirections


def read_redirects(reader: Reader, node: Node) -> None:
    while True:
        skip_blanks(reader)
        if not read_redirect(reader, node):
            return


def read_redirect(reader: Reader, node: Node) -> bool:
    """Read a redirection if there is one at this position; return whether there was."""
    start = reader.pos
    found = DESCRIPTOR.match(reader.text, start)
    descriptor = found.group() if found else ""
    reader.pos += len(descriptor)
    operator = read_operator(reader)
    if operator not in _REDIRECTS:
        reader.pos = start
        return False
    skip_blanks(reader)
    begin = reader.pos
    redirect = Redirect(descriptor.replace("\\\n", ""), operator, require_word(reader))
    node.redirect(redirect)
    if operator in ("<<", "<<-"):
        raw = reader.text[begin : reader.pos].replace("\\\n", "")
        redirect.quoted = any(quote in raw for quote in "\\'\"")
        reader.pending.append((redirect, _delimiter(redirect.target, raw)))
    return True


# here-documents


def read_substituted(reader: Reader, closer: str) -> Block:
    """Read the commands of a substitution. The here-documents of the line around it come after them."""
    reader.enter()
    pending, reader.pending = reader.pending, []
    unquoted, reader.unquoted = reader.unquoted, False
    before, reader.closer = reader.closer, closer
    body = reader.read_block(closer, empty=True)
    reader.pending += pending
    reader.unquoted, reader.closer = unquoted, before
    reader.depth -= 1
    return body


def read_documents(reader: Reader) -> None:
    """Read the bodies of the here-documents that were announced on the line that ends here."""
    pending, reader.pending = reader.pending, []
    for redirect, delimiter in pending:
        start, lines, held = reader.pos, [], False
        while reader.pos < reader.size:
            end = reader.text.find("\n", reader.pos)
            end = reader.size if end < 0 else end
            line = reader.text[reader.pos : end]
            reader.pos = min(end + 1, reader.size)
            if redirect.operator == "<<-" and not held:
                line = line.lstrip("\t")
            if not held and line.startswith(delimiter):
                rest = line[len(delimiter) :]
                if not rest:
                    break
                if reader.closer == ")" and ")" in rest:  # bash accepts `E)` as the end of both
                    reader.pos = end - len(rest)
                    break
            lines.append(line + "\n")
            backslashes = len(line) - len(line.rstrip("\\"))
            held = not redirect.quoted and backslashes % 2 == 1
        redirect.target = _read_document(reader, "".join(lines), start, quoted=redirect.quoted)


def _read_document(reader: Reader, text: str, start: int, *, quoted: bool) -> Word:
    same = reader.text.startswith(text, start)
    if quoted:
        literal = Literal(text, quoted=True)
        return Word([literal])
    return read_body(reader.inner(text, start, same=same))


def _delimiter(word: Word, raw: str) -> str:
    """Return the word without its quotes. Nothing in it is expanded."""
    plain = [part.text for part in word.parts if isinstance(part, Literal)]
    return "".join(plain) if len(plain) == len(word.parts) else _QUOTES.sub(r"\1", raw)
