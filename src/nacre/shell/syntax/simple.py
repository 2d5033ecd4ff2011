"""Read simple commands, and the assignments before and among their words. A function is recognised by its `()`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.syntax.lexer import (
    AFTER_RESERVED,
    DESCRIPTOR,
    RESERVED_WORDS,
    read_redirect,
    require_word,
    skip_blanks,
    skip_lines,
)
from nacre.shell.syntax.nodes import DECLARES, Assignment, Literal, Node, Part, SimpleCommand, Word
from nacre.shell.syntax.words import BashSyntaxError, read_subscript, read_word

if TYPE_CHECKING:
    from nacre.shell.syntax.parser import Reader

_PLAIN = r"""(?:-[^\s\\'"`$;&|<>()\[{~*?]*+|\[(?=[ \t])|[^\s\\'"`$;&|<>()\[{~*?=\#-][^\s\\'"`$;&|<>()\[{~*?=]*+)"""
"""A word that stands for itself and is not an assignment."""
_ENDED = r"(?=[ \t\n;|&)]|\Z)"
_PLAIN_WORDS = lazy_regex(rf"(?:[ \t]*+{_PLAIN}{_ENDED})+")
_FIXED_WORD = lazy_regex(rf"""[ \t]*+(?:({_PLAIN})|"([^"\\`$]*+)"|'([^']*+)'){_ENDED}""")
"""Matches a word that is plain, or quoted as a whole."""
_FIXED_COMMAND = lazy_regex(
    rf"""(?!{RESERVED_WORDS}{AFTER_RESERVED})((?:[ \t]*+(?:{_PLAIN}|"[^"\\`$]*+"|'[^']*+'){_ENDED})+)"""
    r"[ \t]*+(?=[\n;|)]|&(?![>\\])|\Z)"
)
_ASSIGNED = lazy_regex(r"([A-Za-z_]\w*+(?:\\\n\w*+)*)(\[|=|\+(?:\\\n)*=)", re.ASCII)
_EQUALS = lazy_regex(r"\+?(?:\\\n)*=")
FUNCTION_PARENTHESES = lazy_regex(r"(?:[ \t]|\\\n)*\((?:[ \t]|\\\n)*\)")


def _declares(node: SimpleCommand) -> bool:
    first = node.words[0]
    return isinstance(first, Word) and first.literal in DECLARES


def read_literal_command(reader: Reader) -> SimpleCommand | None:
    """Read the command at this position if all its words are fixed, as most are; return None for others."""
    start = reader.pos
    found = _FIXED_COMMAND.match(reader.text, start)
    if found is None or (reader.closer == "}" and reader.text.startswith("}", start)):
        return None
    reader.pos = found.end()
    text = found[1]
    if '"' in text or "'" in text:
        words = _FIXED_WORD.findall(text)
        node = SimpleCommand(
            reader.origin(start), tuple([plain or double or single for plain, double, single in words])
        )
        node.quoted = tuple([not plain for plain, _, _ in words])
    else:
        node = SimpleCommand(reader.origin(start), tuple(text.split()))
    node.end = reader.origin(reader.pos)
    return node


def read_simple_command(reader: Reader) -> Node:
    text, start, size, origin = reader.text, reader.pos, reader.size, reader.origin
    node = SimpleCommand(origin(start))
    words = node.words
    if found := _PLAIN_WORDS.match(text, start):  # just a fast path, like the next one
        words += [Word(None, word) for word in found[0].split()]
        reader.pos = found.end()
    fixed = True
    while True:
        if found := _FIXED_WORD.match(text, reader.pos):
            kind = found.lastindex or 1
            reader.pos = found.end()
            words.append(Word(None, found[kind], kind > 1))
            continue
        skip_blanks(reader)
        if reader.pos >= size or text[reader.pos] in "\n;|)":
            break
        character = text[reader.pos]
        if character == "&":
            if text[reader.pos + 1 : reader.pos + 2] not in (">", "\\") or not read_redirect(reader, node):
                break
        elif character == "(":
            return _read_definition(reader, node, start)
        elif character in "<>":
            if not text.startswith("(", reader.skip_continuations(reader.pos + 1)):
                read_redirect(reader, node)
            else:
                words.append(require_word(reader))
                fixed = False
        elif character in "0123456789{" and DESCRIPTOR.match(text, reader.pos):
            read_redirect(reader, node)
        elif character.isidentifier():
            fixed = _read_argument_or_assignment(reader, node) and fixed
        else:
            word = require_word(reader)
            words.append(word)
            fixed = fixed and word.literal is not None
    node.argv = tuple([word.literal for word in words]) if fixed else None  # type: ignore[union-attr, misc]
    node.end = origin(reader.pos)
    if reader.pos == start:
        raise BashSyntaxError
    return node


def _read_definition(reader: Reader, node: SimpleCommand, start: int) -> Node:
    found = FUNCTION_PARENTHESES.match(reader.text, reader.pos)
    if not found or len(node.words) != 1 or node.assignments or node.redirects:
        raise BashSyntaxError
    name = node.words[0]
    if isinstance(name, Assignment):
        raise BashSyntaxError
    reader.pos = found.end()
    return reader.read_function(start, name)


def _read_argument_or_assignment(reader: Reader, node: SimpleCommand) -> bool:
    """Read a word or assignment. Return False if the words of the command are no longer all fixed."""
    found = _ASSIGNED.match(reader.text, reader.pos)
    if not found or (node.words and found[2] == "[" and not _declares(node)):
        word = require_word(reader)
        node.words.append(word)
        return word.literal is not None
    assigned = _read_assignment(reader, found)
    if isinstance(assigned, Assignment) and not node.words:
        node.assign(assigned)
        return True
    node.words.append(assigned)
    return False


def _read_assignment(reader: Reader, found: re.Match[str]) -> Assignment | Word:
    """Read an assignment from its name on; return a word if no `=` follows the subscript."""
    operator = found[2]
    assignment = Assignment(found[1].replace("\\\n", ""), Word([]))
    reader.pos = found.end()
    if operator == "[":
        assignment.subscript = read_subscript(reader)
        following = _EQUALS.match(reader.text, reader.pos)
        if not following:
            return _word_with_subscript(reader, assignment.name, assignment.subscript)
        operator = following.group()
        reader.pos = following.end()
    assignment.append = operator.startswith("+")
    if reader.text.startswith("(", reader.skip_continuations(reader.pos)):
        reader.pos = reader.skip_continuations(reader.pos) + 1
        assignment.elements = _read_elements(reader)
    elif reader.pos < reader.size and reader.text[reader.pos] not in " \t\n;&|)":
        assignment.value = read_word(reader)
    return assignment


def _word_with_subscript(reader: Reader, name: str, key: Word) -> Word:
    """Return a word that begins with `name[key]`; the key may contain blanks."""
    parts: list[Part] = [Literal(name + "[", quoted=False), *key.parts, Literal("]", quoted=False)]
    if reader.pos < reader.size:
        parts += read_word(reader).parts
    return Word(parts)


def _read_elements(reader: Reader) -> list[Word]:
    words: list[Word] = []
    while True:
        skip_lines(reader)
        if reader.pos >= reader.size:
            raise BashSyntaxError
        if reader.text.startswith(")", reader.pos):
            reader.pos += 1
            return words
        if reader.text.startswith("[", reader.pos):
            reader.pos += 1
            words.append(_word_with_subscript(reader, "", read_subscript(reader)))
        else:
            words.append(require_word(reader))
