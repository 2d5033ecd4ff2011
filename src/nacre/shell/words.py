"""Words of bash text: quotes, `$…`, backquotes, here-document bodies, in every context they can stand in.

Takes characters, gives `Word`s. What stands inside `$(…)` is commands, and read by the grammar in `parse`.
"""

from __future__ import annotations

import re
from typing import Protocol

from nacre.shell.escapes import ansi_c
from nacre.shell.syntax import Arithmetic, Block, Literal, Parameter, Part, Substitution, Word

DEEPEST = 40
"""How many constructs may stand inside each other. Nobody writes more; reading more would take unbounded stack."""

_PLAIN = re.compile(r"[^ \t\n\\'\"`$;&|<>()]+")
_PLAIN_IN_DOUBLE = re.compile(r'[^"\\`$]+')
_PLAIN_IN_BODY = re.compile(r"[^\\`$]+")
_PLAIN_IN_BRACES = re.compile(r"[^\\'\"`$}]+")
_PLAIN_IN_SUBSCRIPT = re.compile(r"[^\\'\"`$\[\]]+")
_PLAIN_IN_REGEX = re.compile(r"[^ \t\n\\'\"`$()\[]+")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_MORE = re.compile(r"\w*", re.ASCII)
_NUMBER_OF_ARGUMENTS = re.compile(r"#[}:%#/^,@+=?-]")
_PARAMETER = re.compile(r"[A-Za-z_]\w*|\d+|[@*#?$!-]", re.ASCII)
_SIMPLE_PARAMETER = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]", re.ASCII)
_OPERATOR = re.compile(r":?[-=?+]|##?|%%?|//?|\^\^?|,,?|~~?|@|:")
_ANSI_C = re.compile(r"(?:[^'\\]|\\.)*", re.DOTALL)
_BACKQUOTED = re.compile(r"(?:[^`\\]|\\.)*", re.DOTALL)
_SKIPPED = re.compile(r"[^()'\"\\`]+")


class Malformed(Exception):
    """bash could not read on here, or we could not."""


class TooDeep(Exception):
    """More nested than anybody writes."""


class Origin(Protocol):
    """Where a text that is read comes from, in terms of the text that was asked about."""

    def __call__(self, position: int) -> int: ...


class WordReader:
    def __init__(self, text: str, origin: Origin, depth: int = 0) -> None:
        self.text = text
        self.pos = 0
        self.size = len(text)
        self.origin = origin
        self.depth = depth

    def block_until(self, closer: str) -> Block:
        raise NotImplementedError  # the grammar's

    def inner(self, text: str, origin: Origin) -> WordReader:
        raise NotImplementedError  # the grammar's

    # words

    def word(self) -> Word:
        """A word in a command. There is one: the caller has looked."""
        text, start = self.text, self.pos
        if found := _PLAIN.match(text, start):
            self.pos = end = found.end()
            if end == self.size or text[end] in " \t\n;|)":
                literal = Literal(found.group(), quoted=False, source=self.origin(start))
                return Word([literal], self.origin(start), self.origin(end))
            self.pos = start
        parts: list[Part] = []
        while self.pos < self.size:
            found = _PLAIN.match(text, self.pos)
            if found:
                self._literal(parts, found.group(), self.pos)
                self.pos = found.end()
                continue
            character = text[self.pos]
            if character in "<>":
                if not text.startswith("(", self.pos + 1):
                    break
                self._process(parts)
            elif character == "(":
                if not self._extended_glob(parts):
                    break
            elif character in " \t\n;&|)":
                break
            else:
                self._special(parts)
        return Word(parts, self.origin(start), self.origin(self.pos))

    def _special(self, parts: list[Part]) -> None:
        r"""One of ``\ ' " ` $`` outside double quotes."""
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

    def _literal(self, parts: list[Part], text: str, position: int, *, quoted: bool = False) -> None:
        if parts and isinstance(last := parts[-1], Literal) and last.quoted == quoted:
            last.text += text
            last.source = -1
        else:
            parts.append(Literal(text, quoted=quoted, source=self.origin(position) if position >= 0 else -1))

    def _escape(self, parts: list[Part]) -> None:
        following = self.text[self.pos + 1 : self.pos + 2]
        self.pos += 2
        if following != "\n":
            self._literal(parts, following or "\\", -1, quoted=True)

    def _single(self, parts: list[Part]) -> None:
        end = self.text.find("'", self.pos + 1)
        if end < 0:
            raise Malformed
        self._literal(parts, self.text[self.pos + 1 : end], self.pos + 1, quoted=True)
        self.pos = end + 1

    def _double(self, parts: list[Part]) -> None:
        self.pos += 1
        before = len(parts)
        self._until(parts, '"', _PLAIN_IN_DOUBLE, quotes="")
        if len(parts) == before:
            parts.append(Literal("", quoted=True))

    def _until(self, parts: list[Part], closer: str, plain: re.Pattern[str], *, quotes: str) -> None:
        """Text in which only `$`, backquotes and some escapes mean something; `quotes`: which quotes do as well."""
        text = self.text
        while self.pos < self.size:
            if found := plain.match(text, self.pos):
                self._literal(parts, found.group(), self.pos, quoted=True)
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
                self._literal(parts, character, self.pos, quoted=True)
                self.pos += 1
        if closer:
            raise Malformed

    def _escape_in_double(self, parts: list[Part], closer: str) -> None:
        following = self.text[self.pos + 1 : self.pos + 2]
        if following == "\n":
            pass
        elif following in ("$", "`", "\\") or (following and following == closer):
            self._literal(parts, following, -1, quoted=True)
        else:
            self._literal(parts, "\\" + following, self.pos, quoted=True)
        self.pos += 2

    def body(self) -> Word:
        """The whole text as the body of a here-document."""
        parts: list[Part] = []
        self._until(parts, "", _PLAIN_IN_BODY, quotes="")
        return Word(parts, self.origin(0), self.origin(self.size))

    def subscript(self) -> Word:
        """After `[`, to its `]`."""
        start, open_brackets = self.pos, 1
        parts: list[Part] = []
        while self.pos < self.size:
            if found := _PLAIN_IN_SUBSCRIPT.match(self.text, self.pos):
                self._literal(parts, found.group(), self.pos, quoted=True)
                self.pos = found.end()
                continue
            character = self.text[self.pos]
            if character in "[]":
                open_brackets += 1 if character == "[" else -1
                if not open_brackets:
                    word = Word(parts, self.origin(start), self.origin(self.pos))
                    self.pos += 1
                    return word
                self._literal(parts, character, self.pos, quoted=True)
                self.pos += 1
            else:
                self._special(parts)
        raise Malformed

    def regex(self) -> Word:
        """What follows `=~`: parentheses and bars belong to it."""
        start, parentheses = self.pos, 0
        parts: list[Part] = []
        while self.pos < self.size:
            if found := _PLAIN_IN_REGEX.match(self.text, self.pos):
                self._literal(parts, found.group(), self.pos)
                self.pos = found.end()
                continue
            character = self.text[self.pos]
            if character in " \t\n" and not parentheses:
                break
            if character == ")" and not parentheses:
                break
            if character in "()[ \t\n":
                parentheses += {"(": 1, ")": -1}.get(character, 0)
                self._literal(parts, character, self.pos)
                self.pos += 1
            else:
                self._special(parts)
        return Word(parts, self.origin(start), self.origin(self.pos))

    def _extended_glob(self, parts: list[Part]) -> bool:
        last = parts[-1] if parts else None
        if not (isinstance(last, Literal) and not last.quoted and last.text[-1:] in ("?", "*", "+", "@", "!")):
            return False
        self._enter()
        self._literal(parts, "(", self.pos)
        self.pos += 1
        while self.pos < self.size:
            character = self.text[self.pos]
            if character == ")":
                self._literal(parts, ")", self.pos)
                self.pos += 1
                self.depth -= 1
                return True
            if character in "\\'\"`$":
                self._special(parts)
            elif character != "(" or not self._extended_glob(parts):
                self._literal(parts, character, self.pos)
                self.pos += 1
        raise Malformed

    # expansions

    def _enter(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise TooDeep

    def _joined(self, position: int) -> int:
        """Past any line continuation."""
        while self.text.startswith("\\\n", position):
            position += 2
        return position

    def _dollar(self, parts: list[Part], *, quoted: bool) -> None:
        text, start = self.text, self.pos
        following = self._joined(start + 1)
        character = text[following : following + 1]
        if character == "(":
            self.pos = following + 1
            second = self._joined(self.pos)
            if text.startswith("(", second) and (end := self.arithmetic_end(second + 1)) is not None:
                self.pos = second + 1
                parts.append(Arithmetic(self.expression(end), quoted=quoted))
                self.pos = end + 2
            else:
                parts.append(Substitution(self._commands(")"), quoted=quoted))
        elif character == "{":
            self.pos = following + 1
            parts.append(self._braces(quoted=quoted))
        elif character == "[":
            self.pos = following + 1
            parts.append(Arithmetic(self.subscript(), quoted=quoted))
        elif character == "'" and not quoted:
            found = _ANSI_C.match(text, following + 1)
            assert found is not None
            if found.end() == self.size:
                raise Malformed
            self._literal(parts, ansi_c(found.group()), -1, quoted=True)
            self.pos = found.end() + 1
        elif character == '"' and not quoted:
            self.pos = following
            self._double(parts)
        elif found := _SIMPLE_PARAMETER.match(text, following):
            self.pos = found.end()
            parts.append(Parameter(self._rest_of_name(found.group()), quoted=quoted))
        else:
            self._literal(parts, "$", start, quoted=quoted)
            self.pos = start + 1

    def _rest_of_name(self, name: str) -> str:
        while self.text.startswith("\\\n", self.pos) and _NAME.match(name):
            found = _MORE.match(self.text, self.pos + 2)
            assert found is not None
            name += found.group()
            self.pos = found.end()
        return name

    def _commands(self, closer: str) -> Block:
        self._enter()
        body = self.block_until(closer)
        self.depth -= 1
        return body

    def _process(self, parts: list[Part]) -> None:
        kind = self.text[self.pos]
        self.pos += 2
        parts.append(Substitution(self._commands(")"), quoted=True, kind=kind))

    def _backquotes(self, *, quoted: bool) -> Part:
        start = self.pos + 1
        found = _BACKQUOTED.match(self.text, start)
        assert found is not None
        if found.end() == self.size:
            raise Malformed
        self.pos = found.end() + 1
        raw = found.group()
        text = re.sub(r'\\([$`\\"])' if quoted else r"\\([$`\\])", r"\1", raw)
        if text == raw:
            inner = self.inner(raw, lambda position: self.origin(start + position))
        else:
            inner = self.inner(text, lambda position: self.origin(start))
        inner.depth = self.depth
        inner._enter()
        return Substitution(inner.block_until(""), quoted=quoted)

    def _braces(self, *, quoted: bool) -> Part:
        """After `${`."""
        text = self.text
        if text[self.pos : self.pos + 1] in (" ", "\t", "\n", "|"):
            self.pos += text[self.pos] == "|"
            return Substitution(self._commands("}"), quoted=quoted)
        self._enter()
        parameter = Parameter("", quoted=quoted)
        self.pos = self._joined(self.pos)
        if text.startswith("#", self.pos) and not _NUMBER_OF_ARGUMENTS.match(text, self.pos):
            parameter.length = True
            self.pos += 1
        elif text.startswith("!", self.pos) and not text.startswith("!}", self.pos):
            parameter.indirect = True
            self.pos += 1
        found = _PARAMETER.match(text, self.pos)
        if not found:
            raise Malformed
        self.pos = found.end()
        parameter.name = self._rest_of_name(found.group())
        if text.startswith("[", self.pos):
            self.pos += 1
            parameter.subscript = self.subscript()
        self.pos = self._joined(self.pos)
        if found := _OPERATOR.match(text, self.pos):
            parameter.operator = found.group()
            self.pos = found.end()
        elif not text.startswith("}", self.pos):
            raise Malformed
        start = self.pos
        parts: list[Part] = []
        self._argument(parts, quoted=quoted, pattern=parameter.operator[:1] in ("#", "%", "/", "^", ",", "~"))
        parameter.argument = Word(parts, self.origin(start), self.origin(self.pos))
        self.pos += 1
        self.depth -= 1
        return parameter

    def _argument(self, parts: list[Part], *, quoted: bool, pattern: bool) -> None:
        """To the `}`. Inside double quotes a single quote is a character, unless a pattern is due."""
        text, single = self.text, not quoted or pattern
        while self.pos < self.size:
            if found := _PLAIN_IN_BRACES.match(text, self.pos):
                self._literal(parts, found.group(), self.pos, quoted=quoted and not pattern)
                self.pos = found.end()
                continue
            character = text[self.pos]
            if character == "}":
                return
            if character == "'" and not single:
                self._literal(parts, character, self.pos, quoted=True)
                self.pos += 1
            elif character == "\\" and quoted:
                self._escape_in_double(parts, "}")
            elif character == "$":
                self._dollar(parts, quoted=quoted and not text.startswith("$'", self.pos))
            else:
                self._special(parts)
        raise Malformed

    # arithmetic

    def arithmetic_end(self, start: int) -> int | None:
        """Where the `))` of an arithmetic expression stands; None if these are two commands' parentheses."""
        text, position, parentheses = self.text, start, 0
        while position < self.size:
            if found := _SKIPPED.match(text, position):
                position = found.end()
                continue
            character = text[position]
            if character == "(":
                parentheses += 1
            elif character == ")":
                if not parentheses:
                    return position if text.startswith(")", position + 1) else None
                parentheses -= 1
            elif character == "\\":
                position += 1
            else:
                end = self._quote_end(position)
                if end < 0:
                    return None
                position = end
            position += 1
        return None

    def _quote_end(self, position: int) -> int:
        quote = self.text[position]
        while (end := self.text.find(quote, position + 1)) >= 0:
            if quote == "'" or self.text[end - 1] != "\\":
                return end
            position = end
        return -1

    def expression(self, end: int) -> Word:
        """The text up to `end`, in which names and `$…` are evaluated."""
        start = self.pos
        inner = self.inner(self.text[start:end], lambda position: self.origin(start + position))
        inner.depth = self.depth
        inner._enter()
        word = inner.body()
        self.pos = end
        return word
