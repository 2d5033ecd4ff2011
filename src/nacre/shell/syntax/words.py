"""Read words of bash source: plain characters and quotes, in each context.

The result is `Word`s. `expansions` reads the expansions in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.syntax.nodes import Literal, ParameterExpansion, Part, Word

if TYPE_CHECKING:
    from nacre.shell.syntax.parser import Reader

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


def read_word(reader: Reader) -> Word:
    """Read a word of a command. The caller has checked that there is one."""
    text, start = reader.text, reader.pos
    if found := _PLAIN.match(text, start):
        reader.pos = found.end()
        return Word(None, found.group())
    parts: list[Part] = []
    fixed = True
    while True:
        found = _PIECE.match(text, reader.pos)
        if found is None:
            if reader.pos >= reader.size or text[reader.pos] in " \t\n;&|)" or not _read_special_piece(reader, parts):
                break
            fixed = False
            continue
        reader.pos = found.end()
        kind = found.lastindex or 0
        if kind >= _UNQUOTED_PARAMETER:
            parts.append(ParameterExpansion(found[kind], quoted=kind == _QUOTED_PARAMETER))
            fixed = False
        else:
            add_literal(parts, found[kind], quoted=kind > _WITH_GLOBS)
            fixed = fixed and kind != _WITH_GLOBS
    word = Word(parts)
    if fixed and parts and reader.pos - start <= _UNCOUNTED_WORD_CHARS:
        word.literal = "".join([part.text for part in parts if isinstance(part, Literal)])
    return word


def _read_special_piece(reader: Reader, parts: list[Part]) -> bool:
    """Read a piece that begins with a special character; return False if that character ends the word."""
    character = reader.text[reader.pos]
    if character in "<>":
        return reader.read_process_substitution(parts)
    if character == "(":
        return _read_extended_glob(reader, parts)
    read_special(reader, parts)
    return True


def read_special(reader: Reader, parts: list[Part]) -> None:
    r"""Read what one of ``\ ' " ` $`` begins, outside double quotes."""
    match reader.text[reader.pos]:
        case "\\":
            _read_escape(reader, parts)
        case "'":
            _read_single_quoted(reader, parts)
        case '"':
            read_double_quoted(reader, parts)
        case "`":
            parts.append(reader.read_backquotes(quoted=False))
        case _:
            reader.read_dollar(parts, quoted=False)


def add_literal(parts: list[Part], text: str, *, quoted: bool = False) -> None:
    if parts and isinstance(last := parts[-1], Literal) and last.quoted == quoted:
        last.text += text
    else:
        parts.append(Literal(text, quoted=quoted))


def _read_escape(reader: Reader, parts: list[Part]) -> None:
    following = reader.text[reader.pos + 1 : reader.pos + 2]
    reader.pos = min(reader.pos + 2, reader.size)
    if following != "\n":
        add_literal(parts, following or "\\", quoted=True)


def _read_single_quoted(reader: Reader, parts: list[Part]) -> None:
    end = reader.text.find("'", reader.pos + 1)
    if end < 0:
        raise BashSyntaxError
    add_literal(parts, reader.text[reader.pos + 1 : end], quoted=True)
    reader.pos = end + 1


def read_double_quoted(reader: Reader, parts: list[Part]) -> None:
    """Read from a double quote to the next one; in between, only `$`, backquotes and some escapes are special."""
    reader.pos += 1
    text, before = reader.text, len(parts)
    while reader.pos < reader.size:
        if found := _PLAIN_IN_DOUBLE.match(text, reader.pos):
            add_literal(parts, found.group(), quoted=True)
            reader.pos = found.end()
            continue
        character = text[reader.pos]
        if character == "$":
            reader.read_dollar(parts, quoted=True)
        elif character == "`":
            parts.append(reader.read_backquotes(quoted=True))
        elif character == "\\":
            read_escape_in_double(reader, parts, '"')
        else:
            reader.pos += 1
            if len(parts) == before:
                add_literal(parts, "", quoted=True)
            return
    raise BashSyntaxError


def read_escape_in_double(reader: Reader, parts: list[Part], closer: str) -> None:
    following = reader.text[reader.pos + 1 : reader.pos + 2]
    if following == "\n":
        pass
    elif following in ("$", "`", "\\") or (following and following == closer):
        add_literal(parts, following, quoted=True)
    else:
        add_literal(parts, "\\" + following, quoted=True)
    reader.pos = min(reader.pos + 2, reader.size)


def read_subscript(reader: Reader, *, braces: bool = False) -> Word:
    """Read from after `[` to its `]`; within `${…}` no further than to its `}`."""
    open_brackets = 1
    parts: list[Part] = []
    while reader.pos < reader.size:
        if found := _PLAIN_IN_SUBSCRIPT.match(reader.text, reader.pos):
            add_literal(parts, found.group(), quoted=True)
            reader.pos = found.end()
            continue
        character = reader.text[reader.pos]
        if character == "}" and braces:
            return Word(parts)
        if character in "[]}":
            open_brackets += {"[": 1, "]": -1}.get(character, 0)
            if not open_brackets:
                word = Word(parts)
                reader.pos += 1
                return word
            add_literal(parts, character, quoted=True)
            reader.pos += 1
        else:
            read_special(reader, parts)
    raise BashSyntaxError


def read_regex(reader: Reader) -> Word:
    """Read the regular expression after `=~`; parentheses and bars belong to it."""
    parentheses = 0
    parts: list[Part] = []
    while reader.pos < reader.size:
        if found := _PLAIN_IN_REGEX.match(reader.text, reader.pos):
            add_literal(parts, found.group())
            reader.pos = found.end()
            continue
        character = reader.text[reader.pos]
        if character in " \t\n;&<>)" and not parentheses:
            break
        if character in " \t\n;&<>()":
            parentheses += {"(": 1, ")": -1}.get(character, 0)
            add_literal(parts, character)
            reader.pos += 1
        else:
            read_special(reader, parts)
    return Word(parts)


def _read_extended_glob(reader: Reader, parts: list[Part]) -> bool:
    last = parts[-1] if parts else None
    if not (isinstance(last, Literal) and not last.quoted and last.text[-1:] in ("?", "*", "+", "@", "!")):
        return False
    if reader.text.startswith("()", reader.pos):
        return False  # defines a function whose name ends in this character
    reader.enter()
    add_literal(parts, "(")
    reader.pos += 1
    while reader.pos < reader.size:
        character = reader.text[reader.pos]
        if character == ")":
            add_literal(parts, ")")
            reader.pos += 1
            reader.depth -= 1
            return True
        if character in "\\'\"`$":
            read_special(reader, parts)
        elif (character in "<>" and reader.read_process_substitution(parts)) or (
            character == "(" and _read_extended_glob(reader, parts)
        ):
            continue
        else:
            add_literal(parts, character)
            reader.pos += 1
    raise BashSyntaxError
