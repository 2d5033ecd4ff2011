"""The syntax tree of bash source. Built by `parse` and not changed afterwards.

Plain classes: a tree has many nodes, and dataclasses would double the time it takes to load this module.
"""

from __future__ import annotations

from typing import TypeAlias


class Literal:
    """Characters that stand for themselves. Unquoted ones may still be braces, tildes and globs."""

    __slots__ = ("quoted", "text")

    def __init__(self, text: str, *, quoted: bool) -> None:
        self.text = text
        self.quoted = quoted


class ParameterExpansion:
    """`$x`, `${x…}`."""

    __slots__ = ("argument", "indirect", "length", "name", "operator", "quoted", "subscript")

    def __init__(self, name: str, *, quoted: bool) -> None:
        self.name = name
        self.quoted = quoted
        self.operator = ""
        self.argument: Word | None = None
        self.subscript: Word | None = None
        self.indirect = False
        self.length = False


class Substitution:
    """`$(…)` or backquotes; a process substitution if `kind` is `<` or `>`.

    The kinds `{` and `|` are `${ …; }` and `${| …; }` (bash 5.3), which the current shell runs itself.
    """

    __slots__ = ("body", "kind", "quoted")

    def __init__(self, body: Block, *, quoted: bool, kind: str = "$") -> None:
        self.body = body
        self.quoted = quoted
        self.kind = kind


class Arithmetic:
    """`$((…))`, `$[…]`."""

    __slots__ = ("expression", "quoted")

    def __init__(self, expression: Word, *, quoted: bool) -> None:
        self.expression = expression
        self.quoted = quoted


Part: TypeAlias = Literal | ParameterExpansion | Substitution | Arithmetic


class Word:
    """A word: a list of parts or, if it is fixed, only its text."""

    __slots__ = ("_parts", "literal", "quoted")

    def __init__(self, parts: list[Part] | None, fixed: str = "", quoted: bool = False) -> None:
        self._parts = parts
        self.literal = fixed if parts is None else None
        """The one field that it expands to, if it obviously has no expansion or glob; else None. Most words are fixed,
        and the `Literal` of most of these is created only on demand."""
        self.quoted = quoted
        """For a fixed word without parts: all of it is quoted."""

    @property
    def parts(self) -> list[Part]:
        if self._parts is None:
            self._parts = [Literal(self.literal or "", quoted=self.quoted)]
        return self._parts

    def unquoted_text(self) -> str | None:
        """Return the text of a word without any quoting or expansion; None for other words."""
        if self._parts is None:
            return None if self.quoted else self.literal
        match self._parts:
            case [Literal(quoted=False) as only]:
                return only.text
        return None

    @property
    def may_split(self) -> bool:
        """True if the word may expand to several words or none, by an unquoted expansion or glob, or by `"$@"`."""
        return self.literal is None and any(map(_may_split, self.parts))


def _may_split(part: Part) -> bool:
    if isinstance(part, Literal):
        return not part.quoted and any(each in part.text for each in "*?[")
    if not part.quoted:
        return not isinstance(part, Arithmetic)
    if not isinstance(part, ParameterExpansion):
        return False
    if part.indirect or part.name == "@":
        return True
    match part.subscript and part.subscript.parts:
        case [Literal(text="@")]:
            return True
    return False


class Redirect:
    __slots__ = ("descriptor", "operator", "quoted", "target")

    def __init__(self, descriptor: str, operator: str, target: Word) -> None:
        self.descriptor = descriptor
        """As written: "", "2", "{name}"."""
        self.operator = operator
        self.target = target
        """The word after the operator; for a here-document its body, once that has been read."""
        self.quoted = False
        """For a here-document: the delimiter is quoted, so the body is not expanded."""


OWNING = ("declare", "typeset", "local")
"""Builtins that make a variable local if a function calls them."""
DECLARES = (*OWNING, "readonly", "export")
"""Builtins whose arguments may be assignments; the values of these are not split."""


class Assignment:
    __slots__ = ("append", "elements", "name", "subscript", "value")

    def __init__(self, name: str, value: Word) -> None:
        self.name = name
        self.value = value
        self.append = False
        self.subscript: Word | None = None
        self.elements: list[Word] | None = None
        """The words of `name=(…)`; None for other assignments."""


class Node:
    """A command of any kind."""

    __slots__ = ("end", "redirects", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.end = start
        self.redirects: list[Redirect] | tuple[()] = ()
        """A list only if there are redirections: most commands have none."""

    def redirect(self, redirect: Redirect) -> None:
        if isinstance(self.redirects, tuple):
            self.redirects = []
        self.redirects.append(redirect)


class SimpleCommand(Node):
    __slots__ = ("_words", "argv", "assignments", "quoted")

    def __init__(self, start: int, argv: tuple[str, ...] | None = None) -> None:
        self.start = start
        self.end = start
        self.redirects = ()
        self.assignments: list[Assignment] | tuple[()] = ()
        self._words: list[Word | Assignment] | None = None
        self.argv = argv
        """Its words, if all of them are fixed; else None. Most commands are such, and get `Word`s only on demand."""
        self.quoted: tuple[bool, ...] = ()
        """Which words of `argv` are quoted; empty if none is."""

    @property
    def words(self) -> list[Word | Assignment]:
        """All words after the leading assignments. An assignment among them is an argument: `declare a=(1 2)`."""
        if self._words is None:
            argv = self.argv or ()
            quoted = self.quoted or (False,) * len(argv)
            self._words = [Word(None, *each) for each in zip(argv, quoted, strict=True)]
        return self._words

    @property
    def name(self) -> str | None:
        """The first word, if nothing in it is quoted or expanded; else None."""
        if self._words is None:
            return self.argv[0] if self.argv and not (self.quoted and self.quoted[0]) else None
        first = self._words[0] if self._words else None
        return first.unquoted_text() if isinstance(first, Word) else None

    def assign(self, assignment: Assignment) -> None:
        if isinstance(self.assignments, tuple):
            self.assignments = []
        self.assignments.append(assignment)


class Group(Node):
    """`{ … }`, or `( … )` if `subshell`."""

    __slots__ = ("body", "subshell")

    def __init__(self, start: int, body: Block, *, subshell: bool) -> None:
        super().__init__(start)
        self.body = body
        self.subshell = subshell


class If(Node):
    __slots__ = ("branches",)

    def __init__(self, start: int) -> None:
        super().__init__(start)
        self.branches: list[tuple[Block, Block]] = []
        """Conditions and bodies; `else` has an empty condition."""


class Loop(Node):
    """`while` and `until`; `for` and `select` have a `name`, an arithmetic `for` has `expressions`."""

    __slots__ = ("body", "condition", "expressions", "name", "words")

    def __init__(self, start: int) -> None:
        super().__init__(start)
        self.condition: Block | None = None
        self.name = ""
        self.words: list[Word] | None = None
        self.expressions: Word | None = None
        self.body = Block()


class Case(Node):
    __slots__ = ("arms", "fallthrough", "word")

    def __init__(self, start: int, word: Word) -> None:
        super().__init__(start)
        self.word = word
        self.arms: list[tuple[list[Word], Block]] = []
        self.fallthrough: set[int] = set()
        """Indexes of the arms that end in `;&` or `;;&`: another arm may run after them."""


class Test(Node):
    """`[[ … ]]`: the words in between, including operators."""

    __slots__ = ("words",)

    def __init__(self, start: int) -> None:
        super().__init__(start)
        self.words: list[Word] = []


class ArithmeticCommand(Node):
    """`(( … ))`."""

    __slots__ = ("expression",)

    def __init__(self, start: int, expression: Word) -> None:
        super().__init__(start)
        self.expression = expression


class Function(Node):
    __slots__ = ("body", "name")

    def __init__(self, start: int, name: Word, body: Node) -> None:
        super().__init__(start)
        self.name = name
        self.body = body


class Pipeline(Node):
    __slots__ = ("stages",)

    def __init__(self, start: int, stages: list[Node]) -> None:
        super().__init__(start)
        self.stages = stages


class Coprocess(Node):
    __slots__ = ("command",)

    def __init__(self, start: int, command: Node) -> None:
        super().__init__(start)
        self.command = command


class ListItem:
    """A command or pipeline in an and-or list, and the operator that joins it to the one before."""

    __slots__ = ("background", "negated", "node", "operator")

    def __init__(self, node: Node, operator: str) -> None:
        self.node = node
        self.operator = operator
        """`&&` or `||`; "" for the first."""
        self.background = False
        """Whether `&` follows it."""
        self.negated = False


class AndOr(ListItem):
    """An and-or list: a command or pipeline and, seldom, others that `&&` and `||` join to it.

    It is its own first item, since most have no other: a tree has thousands of them.
    """

    __slots__ = ("rest",)

    def __init__(self, node: Node) -> None:
        self.node = node
        self.operator = ""
        self.background = False
        self.negated = False
        self.rest: list[ListItem] | tuple[()] = ()
        """The items after the first. A list only if there are any."""

    @property
    def items(self) -> list[ListItem]:
        return [self, *self.rest]

    @property
    def last(self) -> ListItem:
        return self.rest[-1] if self.rest else self

    def join(self, item: ListItem) -> None:
        """Add an item at the end."""
        if isinstance(self.rest, tuple):
            self.rest = []
        self.rest.append(item)


class Block:
    """A list of commands, separated by `;`, `&` or newlines."""

    __slots__ = ("statements",)

    def __init__(self) -> None:
        self.statements: list[AndOr] = []

    @property
    def items(self) -> list[ListItem]:
        """The items of all statements, in order."""
        return [item for statement in self.statements for item in statement.items]

    @property
    def only_item(self) -> ListItem | None:
        """The item of a block that has no other; None for other blocks."""
        if len(self.statements) != 1 or self.statements[0].rest:
            return None
        return self.statements[0]
