"""Read simple commands, and the assignments before and among their words. A function is recognised by its `()`."""

from __future__ import annotations

import re
from abc import abstractmethod

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.syntax.lexer import AFTER_RESERVED, DESCRIPTOR, RESERVED_WORDS, LineReader
from nacre.shell.syntax.nodes import DECLARES, Assignment, Literal, Node, Part, SimpleCommand, Word
from nacre.shell.syntax.words import BashSyntaxError

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


class SimpleReader(LineReader):
    @abstractmethod
    def function(self, start: int, name: Word) -> Node:
        """Read the body of a function whose name and `()` have been read."""

    def read_literal_command(self) -> SimpleCommand | None:
        """Read the command at this position if all its words are fixed, as most are; return None for others."""
        start = self.pos
        found = _FIXED_COMMAND.match(self.text, start)
        if found is None or (self._braced and self.text.startswith("}", start)):
            return None
        self.pos = found.end()
        text = found[1]
        if '"' in text or "'" in text:
            words = _FIXED_WORD.findall(text)
            node = SimpleCommand(
                self.origin(start), tuple([plain or double or single for plain, double, single in words])
            )
            node.quoted = tuple([not plain for plain, _, _ in words])
        else:
            node = SimpleCommand(self.origin(start), tuple(text.split()))
        node.end = self.origin(self.pos)
        return node

    def simple(self) -> Node:
        text, start, size, origin = self.text, self.pos, self.size, self.origin
        node = SimpleCommand(origin(start))
        words = node.words
        if found := _PLAIN_WORDS.match(text, start):  # just a fast path, like the next one
            words += [Word(None, word) for word in found[0].split()]
            self.pos = found.end()
        fixed = True
        while True:
            if found := _FIXED_WORD.match(text, self.pos):
                kind = found.lastindex or 1
                self.pos = found.end()
                words.append(Word(None, found[kind], kind > 1))
                continue
            self.skip_blanks()
            if self.pos >= size or text[self.pos] in "\n;|)":
                break
            character = text[self.pos]
            if character == "&":
                if text[self.pos + 1 : self.pos + 2] not in (">", "\\") or not self.redirect(node):
                    break
            elif character == "(":
                return self._definition(node, start)
            elif character in "<>":
                if not text.startswith("(", self._skip_continuations(self.pos + 1)):
                    self.redirect(node)
                else:
                    words.append(self.require_word())
                    fixed = False
            elif character in "0123456789{" and DESCRIPTOR.match(text, self.pos):
                self.redirect(node)
            elif character.isidentifier():
                fixed = self._argument_or_assignment(node) and fixed
            else:
                word = self.require_word()
                words.append(word)
                fixed = fixed and word.literal is not None
        node.argv = tuple([word.literal for word in words]) if fixed else None  # type: ignore[union-attr, misc]
        node.end = origin(self.pos)
        if self.pos == start:
            raise BashSyntaxError
        return node

    def _definition(self, node: SimpleCommand, start: int) -> Node:
        found = FUNCTION_PARENTHESES.match(self.text, self.pos)
        if not found or len(node.words) != 1 or node.assignments or node.redirects:
            raise BashSyntaxError
        name = node.words[0]
        if isinstance(name, Assignment):
            raise BashSyntaxError
        self.pos = found.end()
        return self.function(start, name)

    def _argument_or_assignment(self, node: SimpleCommand) -> bool:
        """Read a word or assignment. Return False if the words of the command are no longer all fixed."""
        found = _ASSIGNED.match(self.text, self.pos)
        if not found or (node.words and found[2] == "[" and not _declares(node)):
            word = self.require_word()
            node.words.append(word)
            return word.literal is not None
        assigned = self._assignment(found)
        if isinstance(assigned, Assignment) and not node.words:
            node.assign(assigned)
            return True
        node.words.append(assigned)
        return False

    def _assignment(self, found: re.Match[str]) -> Assignment | Word:
        """Read an assignment from its name on; return a word if no `=` follows the subscript."""
        operator = found[2]
        assignment = Assignment(found[1].replace("\\\n", ""), Word([]))
        self.pos = found.end()
        if operator == "[":
            assignment.subscript = self.subscript()
            following = _EQUALS.match(self.text, self.pos)
            if not following:
                return self._word_with_subscript(assignment.name, assignment.subscript)
            operator = following.group()
            self.pos = following.end()
        assignment.append = operator.startswith("+")
        if self.text.startswith("(", self._skip_continuations(self.pos)):
            self.pos = self._skip_continuations(self.pos) + 1
            assignment.elements = self._elements()
        elif self.pos < self.size and self.text[self.pos] not in " \t\n;&|)":
            assignment.value = self.word()
        return assignment

    def _word_with_subscript(self, name: str, key: Word) -> Word:
        """Return a word that begins with `name[key]`; the key may contain blanks."""
        parts: list[Part] = [Literal(name + "[", quoted=False), *key.parts, Literal("]", quoted=False)]
        if self.pos < self.size:
            parts += self.word().parts
        return Word(parts)

    def _elements(self) -> list[Word]:
        words: list[Word] = []
        while True:
            self.skip_lines()
            if self.pos >= self.size:
                raise BashSyntaxError
            if self.text.startswith(")", self.pos):
                self.pos += 1
                return words
            if self.text.startswith("[", self.pos):
                self.pos += 1
                words.append(self._word_with_subscript("", self.subscript()))
            else:
                words.append(self.require_word())
