"""Read words of bash source: plain characters and quotes, in each context.

The result is `Word`s. `expansions` reads the expansions in them.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Protocol

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.syntax.nodes import Literal, ParameterExpansion, Part, Word

MAX_NESTING = 40
"""Limit of nested constructs: real scripts stay below it, and reading more would take unbounded stack."""

_UNCOUNTED_WORD_CHARS = 1000
"""Longest word that gets a `literal`; the expansion of a longer one is charged to the budget."""

_PLAIN = lazy_regex(r"""[^ \t\n\\'"`$;&|<>(){~*?\[]++(?=[ \t\n;|)]|\Z)""")
"""Matches a whole word that stands for itself."""
_PIECE = lazy_regex(
    r"""([^ \t\n\\'"`$;&|<>(){~*?\[]+)|([^ \t\n\\'"`$;&|<>()]+)"""  # plain; with braces, tildes, globs
    r"""|'([^']*)'|"([^"\\`$]*)"|\\([^\n])"""  # quoted
    r"""|\$([A-Za-z_][A-Za-z0-9_]*+)(?!\\\n)|"\$([A-Za-z_][A-Za-z0-9_]*+)\""""
)
"""Matches a piece of a word that can be taken at once; most words consist of such pieces."""
_WITH_GLOBS, _UNQUOTED_PARAMETER, _QUOTED_PARAMETER = 2, 6, 7
_PLAIN_IN_DOUBLE = lazy_regex(r'[^"\\`$]+')
_PLAIN_IN_SUBSCRIPT = lazy_regex(r"[^\\'\"`$\[\]}]+")
_PLAIN_IN_REGEX = lazy_regex(r"[^ \t\n\\'\"`$();&<>]+")


class BashSyntaxError(Exception):
    """bash, or this parser, cannot read the source any further."""


class TooDeep(Exception):
    """The source has more than `MAX_NESTING` nested constructs."""


class PositionMap(Protocol):
    """Maps a position in the text that is read to one in the original source."""

    def __call__(self, position: int) -> int: ...


class WordReader(ABC):
    def __init__(self, text: str, origin: PositionMap, depth: int = 0) -> None:
        self.text = text
        self.pos = 0
        self.size = len(text)
        self.origin = origin
        self.depth = depth

    def _enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise TooDeep

    def _skip_continuations(self, position: int) -> int:
        """Return the position after any line continuations."""
        while self.text.startswith("\\\n", position):
            position += 2
        return position

    @abstractmethod
    def _dollar(self, parts: list[Part], *, quoted: bool) -> None:
        """Read an expansion that begins with `$`."""

    @abstractmethod
    def _backquotes(self, *, quoted: bool) -> Part:
        """Read a command substitution in backquotes."""

    @abstractmethod
    def _process(self, parts: list[Part]) -> bool:
        """Read a process substitution if there is one at this `<` or `>`; return whether there was."""

    # words

    def word(self) -> Word:
        """Read a word of a command. The caller has checked that there is one."""
        text, start = self.text, self.pos
        if found := _PLAIN.match(text, start):
            self.pos = found.end()
            return Word(None, found.group())
        parts: list[Part] = []
        fixed = True
        while True:
            found = _PIECE.match(text, self.pos)
            if found is None:
                if self.pos >= self.size or text[self.pos] in " \t\n;&|)" or not self._read_special_piece(parts):
                    break
                fixed = False
                continue
            self.pos = found.end()
            kind = found.lastindex or 0
            if kind >= _UNQUOTED_PARAMETER:
                parts.append(ParameterExpansion(found[kind], quoted=kind == _QUOTED_PARAMETER))
                fixed = False
            else:
                self._literal(parts, found[kind], quoted=kind > _WITH_GLOBS)
                fixed = fixed and kind != _WITH_GLOBS
        word = Word(parts)
        if fixed and parts and self.pos - start <= _UNCOUNTED_WORD_CHARS:
            word.literal = "".join([part.text for part in parts if isinstance(part, Literal)])
        return word

    def _read_special_piece(self, parts: list[Part]) -> bool:
        """Read a piece that begins with a special character; return False if that character ends the word."""
        character = self.text[self.pos]
        if character in "<>":
            return self._process(parts)
        if character == "(":
            return self._extended_glob(parts)
        self._special(parts)
        return True

    def _special(self, parts: list[Part]) -> None:
        r"""Read what one of ``\ ' " ` $`` begins, outside double quotes."""
        match self.text[self.pos]:
            case "\\":
                self._escape(parts)
            case "'":
                self._single(parts)
            case '"':
                self._double(parts)
            case "`":
                parts.append(self._backquotes(quoted=False))
            case _:
                self._dollar(parts, quoted=False)

    def _literal(self, parts: list[Part], text: str, *, quoted: bool = False) -> None:
        if parts and isinstance(last := parts[-1], Literal) and last.quoted == quoted:
            last.text += text
        else:
            parts.append(Literal(text, quoted=quoted))

    def _escape(self, parts: list[Part]) -> None:
        following = self.text[self.pos + 1 : self.pos + 2]
        self.pos = min(self.pos + 2, self.size)
        if following != "\n":
            self._literal(parts, following or "\\", quoted=True)

    def _single(self, parts: list[Part]) -> None:
        end = self.text.find("'", self.pos + 1)
        if end < 0:
            raise BashSyntaxError
        self._literal(parts, self.text[self.pos + 1 : end], quoted=True)
        self.pos = end + 1

    def _double(self, parts: list[Part]) -> None:
        self.pos += 1
        before = len(parts)
        self._until(parts, '"', _PLAIN_IN_DOUBLE, quotes="")
        if len(parts) == before:
            self._literal(parts, "", quoted=True)

    def _until(self, parts: list[Part], closer: str, plain: re.Pattern[str], *, quotes: str) -> None:
        """Read up to `closer`; only `$`, backquotes, some escapes and the quotes in `quotes` are special."""
        text = self.text
        while self.pos < self.size:
            if found := plain.match(text, self.pos):
                self._literal(parts, found.group(), quoted=True)
                self.pos = found.end()
                continue
            character = text[self.pos]
            if character == closer:
                self.pos += 1
                return
            if character == "$":
                self._dollar(parts, quoted=True)
            elif character == "`":
                parts.append(self._backquotes(quoted=True))
            elif character == "\\":
                self._escape_in_double(parts, closer)
            elif character in quotes:
                self._special(parts)
            else:
                self._literal(parts, character, quoted=True)
                self.pos += 1
        if closer:
            raise BashSyntaxError

    def _escape_in_double(self, parts: list[Part], closer: str) -> None:
        following = self.text[self.pos + 1 : self.pos + 2]
        if following == "\n":
            pass
        elif following in ("$", "`", "\\") or (following and following == closer):
            self._literal(parts, following, quoted=True)
        else:
            self._literal(parts, "\\" + following, quoted=True)
        self.pos = min(self.pos + 2, self.size)

    def subscript(self, *, braces: bool = False) -> Word:
        """Read from after `[` to its `]`; within `${…}` no further than to its `}`."""
        open_brackets = 1
        parts: list[Part] = []
        while self.pos < self.size:
            if found := _PLAIN_IN_SUBSCRIPT.match(self.text, self.pos):
                self._literal(parts, found.group(), quoted=True)
                self.pos = found.end()
                continue
            character = self.text[self.pos]
            if character == "}" and braces:
                return Word(parts)
            if character in "[]}":
                open_brackets += {"[": 1, "]": -1}.get(character, 0)
                if not open_brackets:
                    word = Word(parts)
                    self.pos += 1
                    return word
                self._literal(parts, character, quoted=True)
                self.pos += 1
            else:
                self._special(parts)
        raise BashSyntaxError

    def regex(self) -> Word:
        """Read the regular expression after `=~`; parentheses and bars belong to it."""
        parentheses = 0
        parts: list[Part] = []
        while self.pos < self.size:
            if found := _PLAIN_IN_REGEX.match(self.text, self.pos):
                self._literal(parts, found.group())
                self.pos = found.end()
                continue
            character = self.text[self.pos]
            if character in " \t\n;&<>)" and not parentheses:
                break
            if character in " \t\n;&<>()":
                parentheses += {"(": 1, ")": -1}.get(character, 0)
                self._literal(parts, character)
                self.pos += 1
            else:
                self._special(parts)
        return Word(parts)

    def _extended_glob(self, parts: list[Part]) -> bool:
        last = parts[-1] if parts else None
        if not (isinstance(last, Literal) and not last.quoted and last.text[-1:] in ("?", "*", "+", "@", "!")):
            return False
        if self.text.startswith("()", self.pos):
            return False  # defines a function whose name ends in this character
        self._enter()
        self._literal(parts, "(")
        self.pos += 1
        while self.pos < self.size:
            character = self.text[self.pos]
            if character == ")":
                self._literal(parts, ")")
                self.pos += 1
                self.depth -= 1
                return True
            if character in "\\'\"`$":
                self._special(parts)
            elif (character in "<>" and self._process(parts)) or (character == "(" and self._extended_glob(parts)):
                continue
            else:
                self._literal(parts, character)
                self.pos += 1
        raise BashSyntaxError
