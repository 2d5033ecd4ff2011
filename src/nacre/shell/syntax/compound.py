"""Read compound commands: groups, conditions, loops, `case`, `[[`, `((`, functions, coprocesses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nacre.shell.syntax.expansions import find_arithmetic_end, read_expression
from nacre.shell.syntax.lexer import (
    expect_word,
    peek_reserved_word,
    read_operator,
    read_redirects,
    require_word,
    skip_blanks,
    skip_lines,
    take_word,
)
from nacre.shell.syntax.nodes import (
    ArithmeticCommand,
    Block,
    Case,
    Coprocess,
    Function,
    Group,
    If,
    Loop,
    Node,
    Test,
    Word,
)
from nacre.shell.syntax.simple import FUNCTION_PARENTHESES, read_simple_command
from nacre.shell.syntax.words import BashSyntaxError, read_regex

if TYPE_CHECKING:
    from nacre.shell.syntax.parser import Reader

_BODIES = frozenset("if while until for select case { [[ ((".split())
_OPENERS = _BODIES | {"coproc", "function"}
_IN_TEST = frozenset(("&&", "||", "(", ")", "<", ">"))


def read_command(reader: Reader, keyword: str) -> Node:
    """Read the command at this position and the blanks after it. `keyword`: the reserved word here, or ""."""
    start = reader.pos
    if reader.text.startswith("(", start) and keyword != "((":
        node = _read_subshell(reader, start)
    elif not keyword:
        return read_simple_command(reader)
    elif keyword in _OPENERS:
        node = _read_compound(reader, keyword, start)
    elif keyword == "time":
        return reader.read_pipeline(keyword)
    elif keyword == "!":
        raise BashSyntaxError
    else:
        return read_simple_command(reader)
    read_redirects(reader, node)
    node.end = reader.origin(reader.pos)
    return node


def _read_compound(reader: Reader, keyword: str, start: int) -> Node:
    end = None
    if keyword == "((" and (end := find_arithmetic_end(reader, reader.after - 1)) is None:
        return _read_subshell(reader, start)
    reader.enter()
    reader.pos = reader.after
    node: Node
    match keyword:
        case "((":
            assert end is not None
            node = ArithmeticCommand(reader.origin(start), read_expression(reader, reader.pos, end))
        case "{":
            node = Group(reader.origin(start), reader.read_block("}"), subshell=False)
        case "if":
            node = _read_if(reader, start)
        case "while" | "until":
            loop = Loop(reader.origin(start))
            loop.condition = reader.read_block("do")
            loop.body = reader.read_block("done")
            node = loop
        case "for" | "select":
            node = _read_for(reader, start)
        case "case":
            node = _read_case(reader, start)
        case "[[":
            node = _read_test(reader, start)
        case "function":
            skip_blanks(reader)
            name = require_word(reader)
            if found := FUNCTION_PARENTHESES.match(reader.text, reader.pos):
                reader.pos = found.end()
            node = read_function(reader, start, name)
        case _:
            node = _read_coprocess(reader, start)
    reader.depth -= 1
    return node


def _read_subshell(reader: Reader, start: int) -> Node:
    reader.enter()
    reader.pos += 1
    node = Group(reader.origin(start), reader.read_block(")"), subshell=True)
    reader.depth -= 1
    return node


def _read_if(reader: Reader, start: int) -> Node:
    node = If(reader.origin(start))
    while True:
        condition, body = reader.read_block("then"), Block()
        node.branches.append((condition, body))
        reader.read_statements(body, "elif", "else", "fi")
        if not body.statements:
            raise BashSyntaxError
        if take_word(reader, "elif"):
            continue
        if take_word(reader, "else"):
            node.branches.append((Block(), reader.read_block("fi")))
        else:
            expect_word(reader, "fi")
        return node


def _read_for(reader: Reader, start: int) -> Node:
    node = Loop(reader.origin(start))
    skip_blanks(reader)
    if peek_reserved_word(reader) == "((":
        begin = reader.after
        end = find_arithmetic_end(reader, begin - 1)
        if end is None:
            raise BashSyntaxError
        node.expressions = read_expression(reader, begin, end)
    else:
        before = reader.pos
        node.name = require_word(reader).unquoted_text() or reader.text[before : reader.pos]
        if take_word(reader, "in"):
            node.words = _read_words(reader)
    skip_blanks(reader)
    if reader.text.startswith(";", reader.pos):
        reader.pos += 1
    if take_word(reader, "{"):
        node.body = reader.read_block("}")
    else:
        expect_word(reader, "do")
        node.body = reader.read_block("done")
    return node


def _read_words(reader: Reader) -> list[Word]:
    words: list[Word] = []
    while True:
        skip_blanks(reader)
        if reader.pos >= reader.size or reader.text[reader.pos] in "\n;&|)":
            return words
        words.append(require_word(reader))


def _read_case(reader: Reader, start: int) -> Node:
    skip_blanks(reader)
    node = Case(reader.origin(start), require_word(reader))
    expect_word(reader, "in")
    while not take_word(reader, "esac"):
        if reader.text.startswith("(", reader.pos):
            reader.pos += 1
        patterns, body = _read_patterns(reader), Block()
        reader.read_statements(body, ";;", ";&", ";;&", "esac")
        node.arms.append((patterns, body))
        skip_lines(reader)
        if reader.text.startswith(";", reader.pos) and read_operator(reader) != ";;":
            node.fallthrough.add(len(node.arms) - 1)
    return node


def _read_patterns(reader: Reader) -> list[Word]:
    patterns = []
    while True:
        skip_blanks(reader)
        patterns.append(require_word(reader))
        skip_blanks(reader)
        if reader.text.startswith(")", reader.pos):
            reader.pos += 1
            return patterns
        if read_operator(reader) != "|":
            raise BashSyntaxError


def _read_test(reader: Reader, start: int) -> Node:
    node = Test(reader.origin(start))
    while not take_word(reader, "]]"):
        begin = reader.pos
        if begin >= reader.size:
            raise BashSyntaxError
        if (
            node.words
            and reader.text.startswith("=~", begin)
            and reader.text[begin + 2 : begin + 3] in (" ", "\t", "\n")
        ):
            reader.pos += 2
            node.words.append(Word(None, "=~"))
            skip_blanks(reader)
            node.words.append(read_regex(reader))
        elif reader.text[begin] in "&|()<>;" and not reader.text.startswith(("<(", ">("), begin):
            operator = read_operator(reader)
            if operator not in _IN_TEST:
                raise BashSyntaxError
            node.words.append(Word(None, operator))
        else:
            node.words.append(require_word(reader))
    return node


def _read_coprocess(reader: Reader, start: int) -> Node:
    skip_blanks(reader)
    before, keyword = reader.pos, peek_reserved_word(reader)
    if not _is_body(reader, keyword):
        require_word(reader)
        skip_blanks(reader)
        keyword = peek_reserved_word(reader)
        if not _is_body(reader, keyword):
            reader.pos, keyword = before, ""
    return Coprocess(reader.origin(start), read_command(reader, keyword))


def read_function(reader: Reader, start: int, name: Word) -> Node:
    skip_lines(reader)
    keyword = peek_reserved_word(reader)
    if not _is_body(reader, keyword):
        raise BashSyntaxError
    reader.enter()
    body = read_command(reader, keyword)
    reader.depth -= 1
    return Function(reader.origin(start), name, body)


def _is_body(reader: Reader, keyword: str) -> bool:
    return keyword in _BODIES or reader.text.startswith("(", reader.pos)
