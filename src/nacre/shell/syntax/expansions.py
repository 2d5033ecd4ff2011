"""Read the expansions in words: `$…` in all its forms, backquotes, arithmetic, the bodies of here-documents.

The grammar in `parser` reads the commands inside `$(…)`. bash parses the inside of backquotes, of `${…}` and of
here-documents only when it expands them: an error in them does not make the text around them invalid.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.syntax.escapes import ansi_c
from nacre.shell.syntax.nodes import Arithmetic, ParameterExpansion, Part, Substitution, Word
from nacre.shell.syntax.words import (
    BashSyntaxError,
    add_literal,
    read_double_quoted,
    read_escape_in_double,
    read_special,
    read_subscript,
)

if TYPE_CHECKING:
    from nacre.shell.syntax.parser import Reader

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


# dollars


def read_dollar(reader: Reader, parts: list[Part], *, quoted: bool) -> None:
    text, start = reader.text, reader.pos
    following = start + 1
    if text.startswith("\\\n", following):
        following = reader.skip_continuations(following)
    character = text[following : following + 1]
    if found := _SIMPLE_PARAMETER.match(text, following):
        reader.pos = found.end()
        parts.append(ParameterExpansion(_read_rest_of_name(reader, found.group()), quoted=quoted))
    elif character == "(":
        reader.pos = following + 1
        second = reader.skip_continuations(reader.pos)
        if text.startswith("(", second) and (end := find_arithmetic_end(reader, second)) is not None:
            parts.append(Arithmetic(read_expression(reader, second + 1, end), quoted=quoted))
        else:
            parts.append(Substitution(reader.read_substituted(")"), quoted=quoted))
    elif character == "{":
        reader.pos = following + 1
        parts.append(_read_braces(reader, quoted=quoted))
    elif character == "[":
        reader.pos = following + 1
        reader.enter()
        parts.append(Arithmetic(read_subscript(reader), quoted=quoted))
        reader.depth -= 1
    elif character == "'" and not quoted:
        found = _ANSI_C.match(text, following + 1)
        assert found is not None
        if not text.startswith("'", found.end()):
            raise BashSyntaxError
        add_literal(parts, ansi_c(found.group()), quoted=True)
        reader.pos = found.end() + 1
    elif character == '"' and not quoted:
        reader.pos = following
        read_double_quoted(reader, parts)
    else:
        add_literal(parts, "$", quoted=quoted)
        reader.pos = start + 1


def _read_rest_of_name(reader: Reader, name: str) -> str:
    if not reader.text.startswith("\\\n", reader.pos) or not _NAME.match(name):
        return name
    pieces = [name]
    while reader.text.startswith("\\\n", reader.pos):
        found = _MORE.match(reader.text, reader.pos + 2)
        assert found is not None
        pieces.append(found.group())
        reader.pos = found.end()
    return "".join(pieces)


def read_process_substitution(reader: Reader, parts: list[Part]) -> bool:
    """Read a process substitution if there is one at this `<` or `>`; return whether there was."""
    kind, following = reader.text[reader.pos], reader.skip_continuations(reader.pos + 1)
    if not reader.text.startswith("(", following):
        return False
    reader.pos = following + 1
    parts.append(Substitution(reader.read_substituted(")"), quoted=True, kind=kind))
    return True


def read_backquotes(reader: Reader, *, quoted: bool) -> Part:
    start = reader.pos + 1
    found = _BACKQUOTED.match(reader.text, start)
    assert found is not None
    if not reader.text.startswith("`", found.end()):
        raise BashSyntaxError
    reader.pos = found.end() + 1
    raw = found.group()
    text = re.sub(r'\\([$`\\"])' if quoted else r"\\([$`\\])", r"\1", raw)
    same = text == raw
    inner = reader.inner(text, start, same=same)
    inner.enter()
    return Substitution(inner.read_all(), quoted=quoted)


# braces


def _read_braces(reader: Reader, *, quoted: bool) -> Part:
    """Read an expansion from after its `${`."""
    reader.pos = reader.skip_continuations(reader.pos)
    following = reader.text[reader.pos : reader.pos + 1]
    if following and following in " \t\n|":
        reader.pos += following == "|"
        return Substitution(reader.read_substituted("}"), quoted=quoted, kind="|" if following == "|" else "{")
    reader.enter()
    parameter = ParameterExpansion("", quoted=quoted)
    _read_parameter(reader, parameter)
    parts: list[Part] = []
    _read_argument(reader, parts, quoted=quoted, pattern=parameter.operator[:1] in ("#", "%", "/", "^", ",", "~"))
    parameter.argument = Word(parts)
    reader.pos += 1
    reader.depth -= 1
    return parameter


def _read_parameter(reader: Reader, parameter: ParameterExpansion) -> None:
    """Read name, subscript and operator. For a bad substitution, as bash calls it, the name stays empty."""
    text = reader.text
    if text.startswith("#", reader.pos) and not _NUMBER_OF_ARGUMENTS.match(text, reader.pos):
        parameter.length = True
        reader.pos += 1
    elif _INDIRECT.match(text, reader.pos):
        parameter.indirect = True
        reader.pos += 1
    found = _PARAMETER.match(text, reader.pos)
    if not found:
        return
    reader.pos = found.end()
    name = _read_rest_of_name(reader, found.group())
    if text.startswith("[", reader.pos):
        reader.pos += 1
        parameter.subscript = read_subscript(reader, braces=True)
    reader.pos = reader.skip_continuations(reader.pos)
    if found := _OPERATOR.match(text, reader.pos):
        parameter.operator = found.group()
        reader.pos = found.end()
    elif parameter.indirect and text.startswith("*}", reader.pos):
        parameter.operator = "*"
        reader.pos += 1
    elif not text.startswith("}", reader.pos):
        return
    parameter.name = name


def _read_argument(reader: Reader, parts: list[Part], *, quoted: bool, pattern: bool) -> None:
    """Read up to the `}`. Inside double quotes a single quote is a character, unless this is a pattern."""
    text, single = reader.text, not quoted or pattern
    while reader.pos < reader.size:
        if found := _PLAIN_IN_BRACES.match(text, reader.pos):
            add_literal(parts, found.group(), quoted=quoted and not pattern)
            reader.pos = found.end()
            continue
        character = text[reader.pos]
        if character == "}":
            return
        if character in "<>":
            if not (single and read_process_substitution(reader, parts)):
                add_literal(parts, character, quoted=quoted and not pattern)
                reader.pos += 1
        elif character == "'" and not single:
            _read_apostrophe(reader, parts)
        elif character == "\\" and quoted and not pattern:
            read_escape_in_double(reader, parts, "}")
        elif character == "$":
            read_dollar(reader, parts, quoted=quoted and not text.startswith("$'", reader.pos))
        else:
            read_special(reader, parts)
    raise BashSyntaxError


def _read_apostrophe(reader: Reader, parts: list[Part]) -> None:
    """Read the text in `"${x-'…'}"`: its single quotes do not quote, but bash still looks for the second one."""
    start = reader.pos + 1
    end = start if reader.unquoted else reader.text.find("'", start)
    if end < 0:
        raise BashSyntaxError
    add_literal(parts, "'", quoted=True)
    reader.pos = start
    if not reader.unquoted:
        inner = reader.inner(reader.text[start:end], start)
        parts += read_body(inner).parts
        add_literal(parts, "'", quoted=True)
        reader.pos = end + 1


# bodies and expressions


def read_body(reader: Reader) -> Word:
    """Read the whole text as the body of a here-document."""
    reader.unquoted = True
    parts: list[Part] = []
    while (start := reader.pos) < reader.size:
        if found := _PLAIN_IN_BODY.match(reader.text, start):
            add_literal(parts, found.group(), quoted=True)
            reader.pos = found.end()
        elif reader.text[start] == "\\":
            read_escape_in_double(reader, parts, "")
        else:
            try:
                _read_expansion(reader, parts)
            except BashSyntaxError:
                parts.append(Substitution(reader.recover(start + 1), quoted=True))
                break
    return Word(parts)


def _read_expansion(reader: Reader, parts: list[Part]) -> None:
    if reader.text[reader.pos] == "$":
        read_dollar(reader, parts, quoted=True)
    else:
        parts.append(read_backquotes(reader, quoted=True))


def find_arithmetic_end(reader: Reader, opened: int) -> int | None:
    """Return the position of the `))` of an arithmetic expression, whose second parenthesis is at `opened`.

    None if the parentheses contain commands. Each parenthesis is visited once, however they are nested.
    """
    if reader.parentheses is None:
        reader.parentheses = {}
    if opened + reader.offset not in reader.parentheses:
        _match_parentheses(reader, opened, reader.parentheses)
    end = reader.parentheses[opened + reader.offset] - reader.offset
    return end if end >= 0 and reader.text.startswith(")", reader.skip_continuations(end + 1)) else None


def _match_parentheses(reader: Reader, opened: int, closed: dict[int, int]) -> None:
    text, offset, waiting, position = reader.text, reader.offset, [opened + reader.offset], opened + 1
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


def read_expression(reader: Reader, start: int, end: int) -> Word:
    """Read the text between two positions, in which names and `$…` are evaluated, and skip its `))`."""
    inner = reader.inner(reader.text[start:end], start)
    inner.parentheses, inner.offset = reader.parentheses, reader.offset + start
    inner.enter()
    word = read_body(inner)
    reader.pos = reader.skip_continuations(end + 1) + 1
    return word
