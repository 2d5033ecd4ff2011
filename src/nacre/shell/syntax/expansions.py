"""Read the expansions in words: `$…` in all its forms, backquotes, arithmetic, the bodies of here-documents.

The grammar in `parser` reads the commands inside `$(…)`. bash parses the inside of backquotes, of `${…}` and of
here-documents only when it expands them: an error in them does not make the text around them invalid.
"""

from __future__ import annotations

import re
from abc import abstractmethod

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.syntax.escapes import ansi_c
from nacre.shell.syntax.nodes import Arithmetic, Block, ParameterExpansion, Part, Substitution, Word
from nacre.shell.syntax.words import BashSyntaxError, WordReader

_PLAIN_IN_BODY = lazy_regex(r"[^\\`$]+")
_PLAIN_IN_BRACES = lazy_regex(r"[^\\'\"`$}<>]+")
_NAME = lazy_regex(r"[A-Za-z_]\w*", re.ASCII)
_MORE = lazy_regex(r"\w*", re.ASCII)
_NUMBER_OF_ARGUMENTS = lazy_regex(r"#[}:%#/^,@+=?-]")
_INDIRECT = lazy_regex(r"!(?=[\w@*]|[#?]\})", re.ASCII)
_PARAMETER = lazy_regex(r"[A-Za-z_]\w*|\d+|[@*#?$!-]", re.ASCII)
_SIMPLE_PARAMETER = lazy_regex(r"[A-Za-z_]\w*|[0-9@*#?$!-]", re.ASCII)
_OPERATOR = lazy_regex(r":?[-=?+]|##?|%%?|//?|\^\^?|,,?|~~?|@|:")
_ANSI_C = lazy_regex(r"(?:[^'\\]|\\.)*", re.DOTALL)
_BACKQUOTED = lazy_regex(r"(?:[^`\\]|\\.)*", re.DOTALL)
_SKIPPED = lazy_regex(r"""(?:[^()'"\\`]|\\.|'[^']*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`)+""", re.DOTALL)


class ExpansionReader(WordReader):
    unquoted = False
    """Whether this is the text of a here-document, in which a single quote is a plain character."""
    _closed: dict[int, int] | None = None
    """Position of the closing parenthesis for each opening one that `arithmetic_end` has seen; -1 if there is none."""
    _offset = 0
    """Added to a position to get its key in `_closed`, which an expression shares with the text around it."""

    @abstractmethod
    def block_until(self, closer: str, *, empty: bool = False) -> Block:
        """Read commands up to `closer`, and `closer`."""

    @abstractmethod
    def inner(self, text: str, start: int, *, same: bool = True) -> ExpansionReader:
        """Return a reader for the text at `start`. `same`: the source contains it verbatim there."""

    @abstractmethod
    def read_all(self) -> Block:
        """Read the whole text: commands up to a syntax error, then the readable fragments."""

    @abstractmethod
    def recover(self, start: int) -> Block:
        """Read the readable fragments of the text from `start` on, which has a syntax error."""

    @abstractmethod
    def _commands(self, closer: str) -> Block:
        """Read the commands of a substitution, up to `closer`."""

    # dollars

    def _dollar(self, parts: list[Part], *, quoted: bool) -> None:
        text, start = self.text, self.pos
        following = start + 1
        if text.startswith("\\\n", following):
            following = self._skip_continuations(following)
        character = text[following : following + 1]
        if found := _SIMPLE_PARAMETER.match(text, following):
            self.pos = found.end()
            parts.append(ParameterExpansion(self._rest_of_name(found.group()), quoted=quoted))
        elif character == "(":
            self.pos = following + 1
            second = self._skip_continuations(self.pos)
            if text.startswith("(", second) and (end := self.arithmetic_end(second)) is not None:
                parts.append(Arithmetic(self.expression(second + 1, end), quoted=quoted))
            else:
                parts.append(Substitution(self._commands(")"), quoted=quoted))
        elif character == "{":
            self.pos = following + 1
            parts.append(self._braces(quoted=quoted))
        elif character == "[":
            self.pos = following + 1
            self._enter()
            parts.append(Arithmetic(self.subscript(), quoted=quoted))
            self.depth -= 1
        elif character == "'" and not quoted:
            found = _ANSI_C.match(text, following + 1)
            assert found is not None
            if not text.startswith("'", found.end()):
                raise BashSyntaxError
            self._literal(parts, ansi_c(found.group()), quoted=True)
            self.pos = found.end() + 1
        elif character == '"' and not quoted:
            self.pos = following
            self._double(parts)
        else:
            self._literal(parts, "$", quoted=quoted)
            self.pos = start + 1

    def _rest_of_name(self, name: str) -> str:
        if not self.text.startswith("\\\n", self.pos) or not _NAME.match(name):
            return name
        pieces = [name]
        while self.text.startswith("\\\n", self.pos):
            found = _MORE.match(self.text, self.pos + 2)
            assert found is not None
            pieces.append(found.group())
            self.pos = found.end()
        return "".join(pieces)

    def _process(self, parts: list[Part]) -> bool:
        """Read a process substitution if there is one at this `<` or `>`; return whether there was."""
        kind, following = self.text[self.pos], self._skip_continuations(self.pos + 1)
        if not self.text.startswith("(", following):
            return False
        self.pos = following + 1
        parts.append(Substitution(self._commands(")"), quoted=True, kind=kind))
        return True

    def _backquotes(self, *, quoted: bool) -> Part:
        start = self.pos + 1
        found = _BACKQUOTED.match(self.text, start)
        assert found is not None
        if not self.text.startswith("`", found.end()):
            raise BashSyntaxError
        self.pos = found.end() + 1
        raw = found.group()
        text = re.sub(r'\\([$`\\"])' if quoted else r"\\([$`\\])", r"\1", raw)
        same = text == raw
        inner = self.inner(text, start, same=same)
        inner._enter()
        return Substitution(inner.read_all(), quoted=quoted)

    # braces

    def _braces(self, *, quoted: bool) -> Part:
        """Read an expansion from after its `${`."""
        self.pos = self._skip_continuations(self.pos)
        following = self.text[self.pos : self.pos + 1]
        if following and following in " \t\n|":
            self.pos += following == "|"
            return Substitution(self._commands("}"), quoted=quoted, kind="|" if following == "|" else "{")
        self._enter()
        parameter = ParameterExpansion("", quoted=quoted)
        self._parameter(parameter)
        parts: list[Part] = []
        self._argument(parts, quoted=quoted, pattern=parameter.operator[:1] in ("#", "%", "/", "^", ",", "~"))
        parameter.argument = Word(parts)
        self.pos += 1
        self.depth -= 1
        return parameter

    def _parameter(self, parameter: ParameterExpansion) -> None:
        """Read name, subscript and operator. For a bad substitution, as bash calls it, the name stays empty."""
        text = self.text
        if text.startswith("#", self.pos) and not _NUMBER_OF_ARGUMENTS.match(text, self.pos):
            parameter.length = True
            self.pos += 1
        elif _INDIRECT.match(text, self.pos):
            parameter.indirect = True
            self.pos += 1
        found = _PARAMETER.match(text, self.pos)
        if not found:
            return
        self.pos = found.end()
        name = self._rest_of_name(found.group())
        if text.startswith("[", self.pos):
            self.pos += 1
            parameter.subscript = self.subscript(braces=True)
        self.pos = self._skip_continuations(self.pos)
        if found := _OPERATOR.match(text, self.pos):
            parameter.operator = found.group()
            self.pos = found.end()
        elif parameter.indirect and text.startswith("*}", self.pos):
            parameter.operator = "*"
            self.pos += 1
        elif not text.startswith("}", self.pos):
            return
        parameter.name = name

    def _argument(self, parts: list[Part], *, quoted: bool, pattern: bool) -> None:
        """Read up to the `}`. Inside double quotes a single quote is a character, unless this is a pattern."""
        text, single = self.text, not quoted or pattern
        while self.pos < self.size:
            if found := _PLAIN_IN_BRACES.match(text, self.pos):
                self._literal(parts, found.group(), quoted=quoted and not pattern)
                self.pos = found.end()
                continue
            character = text[self.pos]
            if character == "}":
                return
            if character in "<>":
                if not (single and self._process(parts)):
                    self._literal(parts, character, quoted=quoted and not pattern)
                    self.pos += 1
            elif character == "'" and not single:
                self._apostrophe(parts)
            elif character == "\\" and quoted and not pattern:
                self._escape_in_double(parts, "}")
            elif character == "$":
                self._dollar(parts, quoted=quoted and not text.startswith("$'", self.pos))
            else:
                self._special(parts)
        raise BashSyntaxError

    def _apostrophe(self, parts: list[Part]) -> None:
        """Read the text in `"${x-'…'}"`: its single quotes do not quote, but bash still looks for the second one."""
        start = self.pos + 1
        end = start if self.unquoted else self.text.find("'", start)
        if end < 0:
            raise BashSyntaxError
        self._literal(parts, "'", quoted=True)
        self.pos = start
        if not self.unquoted:
            inner = self.inner(self.text[start:end], start)
            parts += inner.body().parts
            self._literal(parts, "'", quoted=True)
            self.pos = end + 1

    # bodies and expressions

    def body(self) -> Word:
        """Read the whole text as the body of a here-document."""
        self.unquoted = True
        parts: list[Part] = []
        while (start := self.pos) < self.size:
            if found := _PLAIN_IN_BODY.match(self.text, start):
                self._literal(parts, found.group(), quoted=True)
                self.pos = found.end()
            elif self.text[start] == "\\":
                self._escape_in_double(parts, "")
            else:
                try:
                    self._expansion(parts)
                except BashSyntaxError:
                    parts.append(Substitution(self.recover(start + 1), quoted=True))
                    break
        return Word(parts)

    def _expansion(self, parts: list[Part]) -> None:
        if self.text[self.pos] == "$":
            self._dollar(parts, quoted=True)
        else:
            parts.append(self._backquotes(quoted=True))

    def arithmetic_end(self, opened: int) -> int | None:
        """Return the position of the `))` of an arithmetic expression, whose second parenthesis is at `opened`.

        None if the parentheses contain commands. Each parenthesis is visited once, however they are nested.
        """
        if self._closed is None:
            self._closed = {}
        if opened + self._offset not in self._closed:
            self._match(opened, self._closed)
        end = self._closed[opened + self._offset] - self._offset
        return end if end >= 0 and self.text.startswith(")", self._skip_continuations(end + 1)) else None

    def _match(self, opened: int, closed: dict[int, int]) -> None:
        text, offset, waiting, position = self.text, self._offset, [opened + self._offset], opened + 1
        while waiting:
            if found := _SKIPPED.match(text, position):
                position = found.end()
            character = text[position : position + 1]
            if character == "(":
                waiting.append(position + offset)
            elif character == ")":
                closed[waiting.pop()] = position + offset
            else:  # end of the text, or an unclosed quote
                closed.update(dict.fromkeys(waiting, -1))
                return
            position += 1

    def expression(self, start: int, end: int) -> Word:
        """Read the text between two positions, in which names and `$…` are evaluated, and skip its `))`."""
        inner = self.inner(self.text[start:end], start)
        inner._closed, inner._offset = self._closed, self._offset + start
        inner._enter()
        word = inner.body()
        self.pos = self._skip_continuations(end + 1) + 1
        return word
