"""bash text → tree, as bash's own grammar has it. Never runs anything; linear in the text, bounded in its stack.

bash executes a text line by line and meets a syntax error only when it gets there. So does `parse`: what stands before
an error is read, and of the rest every piece that makes a command by itself (`broken` says that it was so).
"""

from __future__ import annotations

import re

from nacre.shell.syntax import (
    Assignment,
    Block,
    Calculation,
    Case,
    Coprocess,
    Function,
    Group,
    If,
    Item,
    Literal,
    Loop,
    Node,
    Part,
    Pipeline,
    Redirect,
    Simple,
    Test,
    Word,
)
from nacre.shell.words import Malformed, Origin, TooDeep, WordReader

__all__ = ["Malformed", "TooDeep", "expansion", "parse"]

_BLANKS = re.compile(r"(?:[ \t]+|\\\n)*")
_COMMENT = re.compile(r"#[^\n]*")
_OPERATORS = re.compile(r"&&|&>>|&>|&|\|\||\|&|\||;;&|;&|;;|;|<<<|<<-|<<|<&|<>|<|>>|>&|>\||>|\(|\)|\n")
_REDIRECTS = frozenset(("<", ">", ">>", ">|", "<>", "<<", "<<-", "<<<", "<&", ">&", "&>", "&>>"))
_DESCRIPTOR = re.compile(r"(?:\d+|\{[A-Za-z_]\w*\})(?=[<>])", re.ASCII)
_KEYWORD = re.compile(r"(?:then|elif|else|fi|do|done|esac|\}|\)|;;&|;;|;&)(?=[\s;&|()<>]|$)|\)|;;&|;;|;&")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\[|\+?=)", re.ASCII)
_FUNCTION_PARENTHESES = re.compile(r"(?:[ \t]|\\\n)*\((?:[ \t]|\\\n)*\)")
_OPENERS = frozenset("if while until for select case { [[ (( time ! coproc function".split())
_PIECE = re.compile(r"""(?:[^\\'"`;&|(){}\n]|\\.|'[^']*(?:'|\Z)|"(?:[^"\\]|\\.)*(?:"|\Z)|`(?:[^`\\]|\\.)*(?:`|\Z))+""", re.S)
_RESERVED = re.compile(r"(?:\[\[|\(\(|!|[{a-z]+)(?=[\s;&|()<>]|$)|\(\(|!(?=\()")
_TIME_OPTION = re.compile(r"-(?:p|-)(?=[ \t])")
_EQUALS = re.compile(r"\+?=")


def parse(text: str, origin: Origin | None = None) -> tuple[Block, bool]:
    """The commands of a text, and whether bash would stumble over it. Raises TooDeep, nothing else."""
    reader = _Reader(text, origin or (lambda position: position))
    return reader.script()


def expansion(text: str) -> Word:
    """A text that bash expands as it does between double quotes. Raises Malformed."""
    return _Reader(text, lambda position: position).body()


class _Reader(WordReader):
    def __init__(self, text: str, origin: Origin, depth: int = 0) -> None:
        super().__init__(text, origin, depth)
        self._pending: list[tuple[Redirect, str, bool]] = []
        """Here-documents whose bodies are still to come: redirection, delimiter, whether tabs are stripped."""

    # whole texts

    def script(self) -> tuple[Block, bool]:
        block = Block()
        while True:
            start = self._skip_lines()
            if start >= self.size:
                return block, False
            before = len(block.items)
            try:
                self._line(block)
            except Malformed:
                del block.items[before:]
                block.items += self._pieces(start)
                return block, True

    def _pieces(self, start: int) -> list[Item]:
        """Of a text that is no command as a whole, whatever is one by itself."""
        items = []
        for found in _PIECE.finditer(self.text, start):
            at = found.start()
            inner = _Reader(found.group(), lambda position, at=at: self.origin(at + position))  # type: ignore[misc]
            block = Block()
            try:
                inner._list(block, "")
            except Malformed:
                pass
            items += block.items
        return items

    def block_until(self, closer: str) -> Block:
        block = Block()
        self._list(block, closer)
        if closer:
            self._expect(closer)
        elif self.pos < self.size:
            raise Malformed
        return block

    def inner(self, text: str, origin: Origin) -> _Reader:
        return _Reader(text, origin, self.depth)

    # lists and pipelines

    def _line(self, block: Block) -> None:
        """One complete command: to the end of its line."""
        self._list(block, "", one_line=True)
        if self.pos < self.size and self.text[self.pos] != "\n":
            raise Malformed

    def _list(self, block: Block, *closers: str, one_line: bool = False) -> None:
        operator = ";"
        while True:
            if one_line and operator == ";" and block.items:
                self._skip_blanks()
                if self.text.startswith("\n", self.pos):
                    return
            else:
                self._skip_lines()
            if self.pos >= self.size:
                return
            found = _KEYWORD.match(self.text, self.pos)
            if found:
                if found.group() in closers:
                    return
                raise Malformed
            item = Item(self._pipeline(), operator)
            block.items.append(item)
            operator = self._separator(item)
            if not operator:
                return

    def _separator(self, item: Item) -> str:
        """What follows a pipeline: how the next one hangs on it; "" if there can be none."""
        self._skip_blanks()
        found = self._operator()
        if found in ("&&", "||"):
            return found
        if found == "&":
            item.background = True
            return ";"
        if found == ";":
            return ";"
        if found == "\n":
            self.pos -= 1
            return ";"
        self.pos -= len(found)
        return ";" if found in (")", ";;", ";&", ";;&") else ""

    def _operator(self) -> str:
        """Take the operator that stands here; "" if none does."""
        found = _OPERATORS.match(self.text, self.pos)
        if not found:
            return ""
        start, operator, end = self.pos, found.group(), found.end()
        while self.text.startswith("\\\n", end) and operator != "\n":  # an operator may be split over two lines
            after = self._joined(end)
            longer = _OPERATORS.match(operator + self.text[after : after + 2])
            if longer is None or longer.end() <= len(operator):
                break
            rest = after + longer.end() - len(operator)
            operator = longer.group()
            end = start + len(operator)
            self.text = self.text[:start] + operator + " " * (rest - end) + self.text[rest:]
        self.pos = end
        return operator

    def _pipeline(self) -> Node:
        start = self.pos
        while (word := self._keyword()) in ("!", "time"):
            self.pos += len(word)
            self._skip_blanks()
            while word == "time" and (found := _TIME_OPTION.match(self.text, self.pos)):
                self.pos = found.end()
                self._skip_blanks()
            if self.pos >= self.size or self.text[self.pos] in ";\n)&|":
                return Simple(self.origin(start))
        stages = [self._command()]
        while True:
            self._skip_blanks()
            if not self.text.startswith("|", self.pos) or self.text.startswith("||", self.pos):
                break
            before = self.pos
            if self._operator() == "||":
                self.pos = before
                break
            self._skip_lines()
            stages.append(self._command())
        if len(stages) == 1:
            return stages[0]
        pipeline = Pipeline(self.origin(start), stages)
        pipeline.end = self.origin(self.pos)
        return pipeline

    # commands

    def _keyword(self) -> str:
        """The reserved word that stands here, not taken."""
        found = _RESERVED.match(self.text, self.pos)
        return found.group() if found and found.group() in _OPENERS else ""

    def _command(self) -> Node:
        start, keyword = self.pos, self._keyword()
        if self.text.startswith("(", start) and keyword != "((":
            node: Node = self._subshell(start)
        elif not keyword:
            return self._simple()
        elif keyword in ("!", "time"):
            return self._pipeline()
        else:
            node = self._compound(keyword, start)
        self._redirects(node)
        node.end = self.origin(self.pos)
        return node

    def _compound(self, keyword: str, start: int) -> Node:
        if keyword == "((" and (end := self.arithmetic_end(start + 2)) is None:
            return self._subshell(start)
        self._enter()
        self.pos += len(keyword)
        node: Node
        match keyword:
            case "((":
                assert end is not None
                node = Calculation(self.origin(start), self.expression(end))
                self.pos = end + 2
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
                self._skip_blanks()
                name = self.word()
                if found := _FUNCTION_PARENTHESES.match(self.text, self.pos):
                    self.pos = found.end()
                node = self._function(start, name)
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
            self._list(body, "elif", "else", "fi")
            if self._take("elif"):
                continue
            if self._take("else"):
                node.branches.append((Block(), self.block_until("fi")))
            else:
                self._expect("fi")
            return node

    def _for(self, start: int) -> Node:
        node = Loop(self.origin(start))
        self._skip_blanks()
        if self.text.startswith("((", self.pos):
            end = self.arithmetic_end(self.pos + 2)
            if end is None:
                raise Malformed
            self.pos += 2
            node.expressions = self.expression(end)
            self.pos = end + 2
        else:
            node.name = self.word().bare() or ""
            if not node.name:
                raise Malformed
            self._skip_lines()
            if self._take("in"):
                node.words = self._words()
        self._skip_blanks()
        if self.text.startswith(";", self.pos):
            self.pos += 1
        self._skip_lines()
        if self._take("{"):
            node.body = self.block_until("}")
        else:
            self._expect("do")
            node.body = self.block_until("done")
        return node

    def _words(self) -> list[Word]:
        words = []
        while True:
            self._skip_blanks()
            if self.pos >= self.size or self.text[self.pos] in "\n;&|)":
                return words
            words.append(self._some_word())

    def _some_word(self) -> Word:
        before = self.pos
        word = self.word()
        if self.pos == before:
            raise Malformed
        return word

    def _case(self, start: int) -> Node:
        self._skip_blanks()
        node = Case(self.origin(start), self._some_word())
        self._skip_lines()
        self._expect("in")
        while True:
            self._skip_lines()
            if self._take("esac"):
                return node
            self._skip_blanks()
            if self.text.startswith("(", self.pos):
                self.pos += 1
            patterns = []
            while True:
                self._skip_blanks()
                patterns.append(self._some_word())
                self._skip_blanks()
                if self.text.startswith("|", self.pos):
                    self.pos += 1
                    continue
                if not self.text.startswith(")", self.pos):
                    raise Malformed
                self.pos += 1
                break
            body = Block()
            self._list(body, ";;", ";&", ";;&", "esac")
            node.arms.append((patterns, body))
            self._skip_lines()
            if self.text.startswith(";", self.pos):
                self._operator()

    def _test(self, start: int) -> Node:
        node = Test(self.origin(start))
        while True:
            self._skip_lines()
            if self.pos >= self.size:
                raise Malformed
            if self._take("]]"):
                return node
            if self.text.startswith("=~", self.pos):
                node.words.append(Word([Literal("=~", quoted=False)], self.origin(self.pos), self.origin(self.pos + 2)))
                self.pos += 2
                self._skip_blanks()
                node.words.append(self.regex())
            elif (found := _OPERATORS.match(self.text, self.pos)) and not self.text.startswith(("<(", ">("), self.pos):
                self.pos = found.end()
                node.words.append(Word([Literal(found.group(), quoted=False)], self.origin(found.start()), self.origin(self.pos)))
            else:
                node.words.append(self._some_word())

    def _coprocess(self, start: int) -> Node:
        self._skip_blanks()
        before = self.pos
        if not self._keyword() and not self.text.startswith("(", self.pos):
            self._some_word()
            self._skip_blanks()
            if not (self._keyword() or self.text.startswith("(", self.pos)):
                self.pos = before
        return Coprocess(self.origin(start), self._command())

    def _function(self, start: int, name: Word) -> Node:
        self._skip_lines()
        self._enter()
        body = self._command()
        self.depth -= 1
        return Function(self.origin(start), name, body)

    # simple commands

    def _simple(self) -> Node:
        text, start = self.text, self.pos
        node = Simple(self.origin(start))
        while True:
            self._skip_blanks()
            if self.pos >= self.size:
                break
            character = text[self.pos]
            if character in "\n;|)":
                break
            if character == "&":
                if not self._redirect(node):
                    break
            elif character in "<>" and not text.startswith("(", self.pos + 1):
                self._redirect(node)
            elif character == "(":
                if len(node.words) != 1 or node.assignments or not isinstance(name := node.words[0], Word):
                    raise Malformed
                found = _FUNCTION_PARENTHESES.match(text, self.pos)
                if not found:
                    raise Malformed
                self.pos = found.end()
                return self._function(start, name)
            elif _DESCRIPTOR.match(text, self.pos):
                self._redirect(node)
            else:
                self._argument_or_assignment(node)
            text = self.text
        node.end = self.origin(self.pos)
        if self.pos == start:
            raise Malformed
        return node

    def _argument_or_assignment(self, node: Simple) -> None:
        if (found := _ASSIGNED.match(self.text, self.pos)) and (assignment := self._assignment(found)):
            if node.words:
                node.words.append(assignment)
            else:
                node.assignments.append(assignment)
            return
        node.words.append(self._some_word())

    def _assignment(self, found: re.Match[str]) -> Assignment | None:
        start, operator = self.pos, found[2]
        assignment = Assignment(found[1], Word([], 0, 0))
        self.pos = found.end()
        if operator == "[":
            assignment.subscript = self.subscript()
            following = _EQUALS.match(self.text, self.pos)
            if not following:
                self.pos = start
                return None
            operator = following.group()
            self.pos = following.end()
        assignment.append = operator == "+="
        if self.text.startswith("(", self.pos):
            self.pos += 1
            assignment.elements = self._elements()
        elif self.pos < self.size and self.text[self.pos] not in " \t\n;&|)":
            assignment.value = self.word()
        assignment.value.start, assignment.value.end = self.origin(start), self.origin(self.pos)
        return assignment

    def _elements(self) -> list[Word]:
        words = []
        while True:
            self._skip_lines()
            if self.pos >= self.size:
                raise Malformed
            if self.text.startswith(")", self.pos):
                self.pos += 1
                return words
            if self.text.startswith("[", self.pos):
                start = self.pos
                self.pos += 1
                key = self.subscript()
                if self.text.startswith("=", self.pos):
                    self.pos += 1
                    parts: list[Part] = [*key.parts, Literal("=", quoted=True)]
                    if self.pos < self.size and self.text[self.pos] not in " \t\n)":
                        parts += self.word().parts
                    words.append(Word(parts, self.origin(start), self.origin(self.pos)))
                    continue
                self.pos = start
            words.append(self._some_word())

    # redirections

    def _redirects(self, node: Node) -> None:
        while True:
            self._skip_blanks()
            if not self._redirect(node):
                return

    def _redirect(self, node: Node) -> bool:
        """Take a redirection if one stands here."""
        start = self.pos
        found = _DESCRIPTOR.match(self.text, start)
        descriptor = found.group() if found else ""
        self.pos += len(descriptor)
        operator = self._operator()
        if operator not in _REDIRECTS:
            self.pos = start
            return False
        self._skip_blanks()
        begin = self.pos
        redirect = Redirect(descriptor, operator, self._some_word())
        node.redirects.append(redirect)
        if operator in ("<<", "<<-"):
            redirect.quoted = any(isinstance(p, Literal) and p.quoted for p in redirect.target.parts)
            raw = self.text[begin : self.pos]
            simple = [p.text for p in redirect.target.parts if isinstance(p, Literal)]
            delimiter = "".join(simple) if len(simple) == len(redirect.target.parts) else raw
            self._pending.append((redirect, delimiter, operator == "<<-"))
        return True

    def _bodies(self) -> None:
        """The here-documents that were announced on the line that ends here."""
        pending, self._pending = self._pending, []
        for redirect, delimiter, tabs in pending:
            start, lines = self.pos, []
            held = ""
            while self.pos < self.size:
                end = self.text.find("\n", self.pos)
                end = self.size if end < 0 else end
                line = self.text[self.pos : end]
                self.pos = min(end + 1, self.size)
                if tabs and not held:
                    line = line.lstrip("\t")
                if not held and line == delimiter:
                    break
                lines.append(line + "\n")
                backslashes = len(line) - len(line.rstrip("\\"))
                held = "" if redirect.quoted or backslashes % 2 == 0 else "\\"
            redirect.target = self._body("".join(lines), start, quoted=redirect.quoted)

    def _body(self, text: str, start: int, *, quoted: bool) -> Word:
        same = self.text.startswith(text, start)
        if quoted:
            literal = Literal(text, quoted=True, source=self.origin(start) if same else -1)
            return Word([literal], self.origin(start), self.origin(self.pos))
        inner = self.inner(text, lambda position: self.origin(start + (position if same else 0)))
        return inner.body()

    # blanks

    def _skip_blanks(self) -> None:
        if self.pos < self.size and self.text[self.pos] in " \t\\#":
            found = _BLANKS.match(self.text, self.pos)
            assert found is not None
            self.pos = found.end()
            if self.text.startswith("#", self.pos) and (
                found.end() > found.start() or self.pos == 0 or self.text[self.pos - 1] in "\n;&|()"
            ):
                self.pos = self.text.find("\n", self.pos)
                if self.pos < 0:
                    self.pos = self.size

    def _skip_lines(self) -> int:
        """Blanks, comments and ends of lines; the bodies of here-documents stand at these."""
        while True:
            self._skip_blanks()
            if not self.text.startswith("\n", self.pos):
                return self.pos
            self.pos += 1
            if self._pending:
                self._bodies()

    def _take(self, word: str) -> bool:
        self._skip_lines()
        end = self.pos + len(word)
        if self.text.startswith(word, self.pos) and (end >= self.size or self.text[end] in " \t\n;&|()<>"):
            self.pos = end
            return True
        return False

    def _expect(self, word: str) -> None:
        self._skip_lines()
        if word == ")":
            if not self.text.startswith(")", self.pos):
                raise Malformed
            self.pos += 1
        elif not self._take(word):
            raise Malformed
