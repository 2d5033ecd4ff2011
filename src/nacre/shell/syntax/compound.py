"""Read compound commands: groups, conditions, loops, `case`, `[[`, `((`, functions, coprocesses."""

from __future__ import annotations

from abc import abstractmethod

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
from nacre.shell.syntax.simple import FUNCTION_PARENTHESES, SimpleReader
from nacre.shell.syntax.words import BashSyntaxError

_BODIES = frozenset("if while until for select case { [[ ((".split())
_OPENERS = _BODIES | {"coproc", "function"}
_IN_TEST = frozenset(("&&", "||", "(", ")", "<", ">"))


class CompoundReader(SimpleReader):
    @abstractmethod
    def statements(self, block: Block, *closers: str) -> None:
        """Read commands up to one of the closers."""

    @abstractmethod
    def pipeline(self, keyword: str) -> Node:
        """Read a pipeline."""

    def command(self, keyword: str) -> Node:
        """Read the command at this position and the blanks after it. `keyword`: the reserved word here, or ""."""
        start = self.pos
        if self.text.startswith("(", start) and keyword != "((":
            node = self._subshell(start)
        elif not keyword:
            return self.simple()
        elif keyword in _OPENERS:
            node = self._compound(keyword, start)
        elif keyword == "time":
            return self.pipeline(keyword)
        elif keyword == "!":
            raise BashSyntaxError
        else:
            return self.simple()
        self.redirects(node)
        node.end = self.origin(self.pos)
        return node

    def _compound(self, keyword: str, start: int) -> Node:
        end = None
        if keyword == "((" and (end := self.arithmetic_end(self._after - 1)) is None:
            return self._subshell(start)
        self._enter()
        self.pos = self._after
        node: Node
        match keyword:
            case "((":
                assert end is not None
                node = ArithmeticCommand(self.origin(start), self.expression(self.pos, end))
            case "{":
                node = Group(self.origin(start), self.block_until("}"), subshell=False)
            case "if":
                node = self._if(start)
            case "while" | "until":
                loop = Loop(self.origin(start))
                loop.condition = self.block_until("do")
                loop.body = self.block_until("done")
                node = loop
            case "for" | "select":
                node = self._for(start)
            case "case":
                node = self._case(start)
            case "[[":
                node = self._test(start)
            case "function":
                self.skip_blanks()
                name = self.require_word()
                if found := FUNCTION_PARENTHESES.match(self.text, self.pos):
                    self.pos = found.end()
                node = self.function(start, name)
            case _:
                node = self._coprocess(start)
        self.depth -= 1
        return node

    def _subshell(self, start: int) -> Node:
        self._enter()
        self.pos += 1
        node = Group(self.origin(start), self.block_until(")"), subshell=True)
        self.depth -= 1
        return node

    def _if(self, start: int) -> Node:
        node = If(self.origin(start))
        while True:
            condition, body = self.block_until("then"), Block()
            node.branches.append((condition, body))
            self.statements(body, "elif", "else", "fi")
            if not body.statements:
                raise BashSyntaxError
            if self.take("elif"):
                continue
            if self.take("else"):
                node.branches.append((Block(), self.block_until("fi")))
            else:
                self.expect("fi")
            return node

    def _for(self, start: int) -> Node:
        node = Loop(self.origin(start))
        self.skip_blanks()
        if self.peek_reserved_word() == "((":
            begin = self._after
            end = self.arithmetic_end(begin - 1)
            if end is None:
                raise BashSyntaxError
            node.expressions = self.expression(begin, end)
        else:
            before = self.pos
            node.name = self.require_word().unquoted_text() or self.text[before : self.pos]
            if self.take("in"):
                node.words = self._words()
        self.skip_blanks()
        if self.text.startswith(";", self.pos):
            self.pos += 1
        if self.take("{"):
            node.body = self.block_until("}")
        else:
            self.expect("do")
            node.body = self.block_until("done")
        return node

    def _words(self) -> list[Word]:
        words: list[Word] = []
        while True:
            self.skip_blanks()
            if self.pos >= self.size or self.text[self.pos] in "\n;&|)":
                return words
            words.append(self.require_word())

    def _case(self, start: int) -> Node:
        self.skip_blanks()
        node = Case(self.origin(start), self.require_word())
        self.expect("in")
        while not self.take("esac"):
            if self.text.startswith("(", self.pos):
                self.pos += 1
            patterns, body = self._patterns(), Block()
            self.statements(body, ";;", ";&", ";;&", "esac")
            node.arms.append((patterns, body))
            self.skip_lines()
            if self.text.startswith(";", self.pos) and self.operator() != ";;":
                node.fallthrough.add(len(node.arms) - 1)
        return node

    def _patterns(self) -> list[Word]:
        patterns = []
        while True:
            self.skip_blanks()
            patterns.append(self.require_word())
            self.skip_blanks()
            if self.text.startswith(")", self.pos):
                self.pos += 1
                return patterns
            if self.operator() != "|":
                raise BashSyntaxError

    def _test(self, start: int) -> Node:
        node = Test(self.origin(start))
        while not self.take("]]"):
            begin = self.pos
            if begin >= self.size:
                raise BashSyntaxError
            if (
                node.words
                and self.text.startswith("=~", begin)
                and self.text[begin + 2 : begin + 3] in (" ", "\t", "\n")
            ):
                self.pos += 2
                node.words.append(Word(None, "=~"))
                self.skip_blanks()
                node.words.append(self.regex())
            elif self.text[begin] in "&|()<>;" and not self.text.startswith(("<(", ">("), begin):
                operator = self.operator()
                if operator not in _IN_TEST:
                    raise BashSyntaxError
                node.words.append(Word(None, operator))
            else:
                node.words.append(self.require_word())
        return node

    def _coprocess(self, start: int) -> Node:
        self.skip_blanks()
        before, keyword = self.pos, self.peek_reserved_word()
        if not self._is_body(keyword):
            self.require_word()
            self.skip_blanks()
            keyword = self.peek_reserved_word()
            if not self._is_body(keyword):
                self.pos, keyword = before, ""
        return Coprocess(self.origin(start), self.command(keyword))

    def function(self, start: int, name: Word) -> Node:
        self.skip_lines()
        keyword = self.peek_reserved_word()
        if not self._is_body(keyword):
            raise BashSyntaxError
        self._enter()
        body = self.command(keyword)
        self.depth -= 1
        return Function(self.origin(start), name, body)

    def _is_body(self, keyword: str) -> bool:
        return keyword in _BODIES or self.text.startswith("(", self.pos)
