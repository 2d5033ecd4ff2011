"""Expand words to the fields that bash would make of them, if known: quotes, tildes, variables, splitting, globs.

`Substitutions` follows the commands in them, and returns what they would print.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.command import MAX_ARGUMENTS
from nacre.shell.interpreter.operators import apply_operator, key_of
from nacre.shell.interpreter.state import State
from nacre.shell.symbolic import (
    MAX_CHARS,
    PARENT_PID,
    SHELL_PID,
    UNKNOWN,
    UNKNOWN_NONEMPTY,
    cap_length,
    has_glob,
    is_fully_known,
    is_literal,
    mark_globs,
    with_unknowns_empty,
)
from nacre.shell.syntax.braces import MAX_WORDS, TooManyWords, expand_braces
from nacre.shell.syntax.nodes import Arithmetic, Literal, ParameterExpansion, Part, Substitution, Word
from nacre.shell.values.arrays import element, join_elements
from nacre.shell.values.parameters import (
    split_fields,
)
from nacre.shell.values.positional import ANY, Lists, PositionalArguments
from nacre.shell.values.values import Value

if TYPE_CHECKING:
    from nacre.shell.command import Command
    from nacre.shell.frame import Frame
    from nacre.shell.interpreter.interpreter import Interpreter
    from nacre.shell.syntax.nodes import Node

_T = TypeVar("_T")
_SPACES = " \t\n"
_TILDE = lazy_regex(r"~([\w.+-]*)(?=/|$)")
_NAME = lazy_regex(r"[A-Za-z_]\w*", re.ASCII)
_CALCULATED = lazy_regex(
    r"(?:\+\+|--)\s*([A-Za-z_]\w*)|([A-Za-z_]\w*)\s*(?:\+\+|--|(?:<<|>>|[-+*/%&|^])?=(?!=))", re.ASCII
)
"""Matches names that arithmetic assigns a value to."""
_IN_BRACES = lazy_regex(r"\$\{(?:\\\n)*[ \t\n|]")
_NUMBERS = frozenset(
    ("RANDOM", "SECONDS", "LINENO", "BASHPID", "UID", "EUID", "?", "!", "-", "#", "HOSTNAME", "BASH_VERSION")
)


_MAX_NUMBER_DIGITS = 9
_MAX_SCRIPT_ARGUMENTS = 7
"""Scripts do not get that many arguments; `$9` is a way to write an empty text: `rm$IFS$9-rf`."""
COST_TOO_LONG = 1_000_000_000
COST_WORD = 250
"""Cost, in characters, of a word that brace expansion makes; `COST_FIELD`: of one that splitting makes; `COST_ELEMENT`:
of looking at an element of an array; `COST_CHANGE`: of changing one in `${a[@]/x/y}`."""
COST_FIELD = 20
COST_ELEMENT = 4
COST_CHANGE = 160


class Expander:
    """Expands the words of one command, at one point of a script."""

    __slots__ = (
        "_budget",
        "_choices_made",
        "_printed",
        "alternatives",
        "assigned_parts",
        "at",
        "certain_args",
        "choice",
        "choices",
        "frame",
        "interpreter",
        "state",
    )

    def __init__(self, state: State, interpreter: Interpreter, frame: Frame, at: Node | Command) -> None:
        self.state = state
        self.interpreter = interpreter
        self._budget = interpreter.budget
        self.frame = frame
        self.at = at
        """The command whose words they are, or the one that expands a text again."""
        self.choice = 0
        """Index of the value that each variable is assumed to have; `choices`: the largest number of values."""
        self.choices = 1
        self.alternatives: dict[str, int] = {}
        """Number of possible values of everything that has several, mostly variables."""
        self.certain_args = MAX_ARGUMENTS
        """As in `Command.certain_args`, for the words that were expanded last."""
        self._choices_made: dict[str, int] = {}
        self._printed: dict[int, list[str]] = {}
        self.assigned_parts: set[int] = set()
        """Expansions that gave a variable its value (`${x:=…}`), which means that it had none before."""

    def fields(self, word: Word) -> list[str]:
        """Expand a word to fields."""
        if word.literal is not None:
            return [word.literal]
        found = [field for each in self.expand_braces(word) for field in self._split(each.parts)]
        if len(found) > 100:
            self._budget.charge(COST_FIELD * len(found))
        return found

    def assigned_fields(self, start: str, value: Word) -> list[str]:
        """Expand `name=value` where it is not an assignment: like any word, but with a tilde in the value."""
        parts = list(value.parts)
        match parts:
            case [Literal(quoted=False) as first, *_]:
                parts[0] = Literal(self._tilde(first.text), quoted=False)
        return self.fields(Word([Literal(start, quoted=True), *parts]))

    def expand_braces(self, word: Word) -> list[Word]:
        """Return the words that brace expansion makes of a word."""
        try:
            found = expand_braces(word.parts)
        except TooManyWords:
            self._budget.give_up(f"a word stands for more than {MAX_WORDS} words")
            return [Word(None, UNKNOWN)]
        if len(found) == 1:
            return [word]
        self._budget.charge(COST_WORD * len(found))
        return [Word(parts) for parts in found]

    def pick(self, choices: tuple[int, ...]) -> None:
        """From here on, use this choice for each of `alternatives`."""
        self._choices_made = dict(zip(self.alternatives, choices, strict=False))

    def text(self, word: Word, *, globs: bool = False, assigned: bool = False) -> str:
        """Expand a word to one text, without splitting: the value of an assignment, the target of a redirection."""
        if word.literal is not None:
            return word.literal
        out, size = [], 0
        for index, part in enumerate(word.parts):
            if isinstance(part, Literal):
                text = part.text
                if not part.quoted:
                    text = self._tilde(text) if index == 0 else text
                    if assigned and ":~" in text:  # as in `PATH=…:~/bin`
                        first, *rest = text.split(":")
                        text = ":".join((first, *map(self._tilde, rest)))
                    text = mark_globs(text) if globs else text
                out.append(text)
            else:
                value = self.value(part)
                value = value if isinstance(value, str) else self._join_elements(part, value, " ")
                out.append(mark_globs(value) if globs and not part.quoted else value)
                size += len(value)
                if size > MAX_CHARS:  # thousands of such values would fill the memory
                    break
        text = "".join(out)
        if (
            len(text) > MAX_CHARS
            and sum(len(part.text) for part in word.parts if isinstance(part, Literal)) > MAX_CHARS
        ):
            return text  # the script itself has a text of that length
        return self.charge_text(text)

    def charge_text(self, text: str) -> str:
        """Charge a long text to the budget, and cap it: words may double again and again."""
        if len(text) > 1000:
            self._budget.charge(len(text) if len(text) <= MAX_CHARS else COST_TOO_LONG)
        return cap_length(text)

    def _split(self, parts: list[Part]) -> list[str]:
        fields: list[str] = []
        current: str | None = None
        for index, part in enumerate(parts):
            if isinstance(part, Literal):
                text = part.text
                if not part.quoted:
                    if index == 0:
                        text = self._tilde(text)
                    text = mark_globs(text)
                current = (current or "") + text
                continue
            value = self.value(part)
            if current is not None and len(current) > MAX_CHARS:
                current = self.charge_text(current)
            if part.quoted and isinstance(value, str):
                current = (current or "") + value
                continue
            for number, each in enumerate(self._pieces(value, quoted=part.quoted)):
                if number and current is not None:
                    fields.append(current)
                    current = None
                if each is not None:
                    current = (current or "") + each
        if current is not None:
            fields.append(self.charge_text(current))
        return fields

    def _pieces(self, value: Value, *, quoted: bool) -> list[str | None]:
        """Split a value where fields end; None where there is no text."""
        if isinstance(value, str):
            return split_fields(mark_globs(value), self._separators())
        if quoted:
            return list(value)
        ifs = self._separators()
        return [piece for each in value for piece in split_fields(mark_globs(each), ifs)]

    def _separators(self) -> str:
        ifs = self._lookup("IFS")
        return ifs if isinstance(ifs, str) and is_fully_known(ifs) else _SPACES

    def _tilde(self, text: str) -> str:
        if text[:1] != "~" or not (found := _TILDE.match(text)):
            return text
        match found[1]:
            case "":
                place = self.state.home
            case "+":
                place = self.state.cwd
            case "-":
                place = UNKNOWN_NONEMPTY
            case "root":
                place = "/root"
            case user:
                place = f"/home/{user}"
        return place + text[found.end() :]

    # values

    def value(self, part: Part) -> Value:
        match part:
            case Literal():
                return part.text
            case Substitution():
                printed = self._printed.get(id(part))
                if printed is None:
                    printed = self._printed[id(part)] = self.interpreter.substitutions.substitute(part, self)
                return printed[0] if len(printed) == 1 else self._choose(key_of(part), printed)
            case Arithmetic():
                self.arithmetic(self.text(part.expression))
                return UNKNOWN_NONEMPTY
            case ParameterExpansion():
                return self._parameter(part)

    def expand_again(self, text: str) -> str:
        """Return a text after bash expands it once more (`${x@P}`, a subscript in arithmetic)."""
        return self.interpreter.substitutions.expand_again(text, self.state, self.frame, self.at)

    def arithmetic(self, expression: str) -> None:
        """Evaluate arithmetic. Names are variables whose text is again an expression; a subscript may run commands."""
        if _substitutes(expression) and not self._in_map(expression):
            self.expand_again(expression)
        for name in dict.fromkeys(_NAME.findall(expression)):
            for value in self.state.variables.values_of(name):
                if isinstance(value, str):
                    self.subscripts(value)
        if "=" in expression or "++" in expression or "--" in expression:
            for before, after in _CALCULATED.findall(expression):
                self.state.set(before or after, UNKNOWN_NONEMPTY)  # some number

    def subscripts(self, text: str) -> None:
        """Evaluate the subscript, if any, of a text that bash takes as the name of a variable."""
        if "[" in text and _substitutes(text) and not self._in_map(text):
            self.expand_again(text)

    def _in_map(self, text: str) -> bool:
        return bool(self.state.attributes.maps) and any(f"{name}[" in text for name in self.state.attributes.maps)

    def _lookup(self, name: str) -> Value | None:
        values = self.state.variables.get(self.state.attributes.references.get(name, name))
        if values:
            if len(values) == 1:
                return values[0]
            return self._choose(name, values)
        match name:
            case "@" | "*":
                given = self.arguments()
                return None if given is None else given.words
            case "IFS":
                return _SPACES
            case "PWD":
                return self.state.cwd if self.state.cwd_certain else self.either(name, self.state.cwd, UNKNOWN_NONEMPTY)
            case "OLDPWD":
                return UNKNOWN
            case "USER" | "LOGNAME":
                return self.state.user
            case "PPID":
                return PARENT_PID
            case "$":
                return SHELL_PID
            case "0":
                return self.state.arguments.arg0
        if name.isdigit():
            value = self._argument(int(name[:_MAX_NUMBER_DIGITS]))
            return UNKNOWN_NONEMPTY if name in self.state.arguments.nonempty and value in (None, "", UNKNOWN) else value
        return UNKNOWN_NONEMPTY if name in _NUMBERS else None

    def arguments(self) -> PositionalArguments | None:
        """Return all arguments in the alternative that is being followed."""
        lists = self.state.arguments.lists
        if any(each.certain_args < 0 for each in lists) and lists != (ANY,):
            lists = tuple(dict.fromkeys((*lists, ANY)))
        return self._choose_arguments(lists)

    def _choose_arguments(self, lists: Lists) -> PositionalArguments | None:
        if ANY in lists:
            self._budget.note_unknown("$@")
        return self._choose("@", list(lists)) if len(lists) > 1 else lists[0] if lists else None

    def _argument(self, number: int) -> Value | None:
        given = self._choose_arguments(self.state.arguments.lists)
        if given is None:
            return "" if number >= _MAX_SCRIPT_ARGUMENTS else None
        arguments, firm = given
        value = arguments[number - 1] if number <= len(arguments) else ""
        if number <= firm or value == UNKNOWN or (number == firm + 1 and value and is_fully_known(value)):
            return value
        full = 0 <= firm < number <= len(arguments) and all(map(with_unknowns_empty, arguments[firm:number]))
        return self.either(str(number), value, UNKNOWN_NONEMPTY if full else UNKNOWN)

    def _parameter(self, part: ParameterExpansion) -> Value:
        value = self._lookup(part.name)
        if isinstance(value, tuple) and not self._budget.charge(
            (COST_CHANGE if part.operator else COST_ELEMENT) * len(value)
        ):
            return UNKNOWN
        subscript = None if part.subscript is None else self.text(part.subscript)
        if subscript is not None:
            if part.name not in self.state.attributes.maps:
                self.arithmetic(subscript)
            value = element(value, subscript, mapped=part.name in self.state.attributes.maps)
        elif isinstance(value, tuple) and part.name not in "@*":
            value = element(value, "0", mapped=part.name in self.state.attributes.maps)
        if part.indirect:
            value = self._indirect(value)
        if part.length:
            return UNKNOWN_NONEMPTY
        if isinstance(value, tuple) and (part.name == "*" or subscript == "*") and part.quoted:
            value = self._join_elements(part, value, self._separators()[:1])
        if part.operator:
            return apply_operator(self, part, value)
        if value == UNKNOWN and part.name == "BASH_REMATCH":
            self._budget.note_unknown("$BASH_REMATCH")
        if value is None:
            self._budget.note_unknown(f"${part.name}")
            return UNKNOWN_NONEMPTY if self.state.options.nounset and part.name not in "@*" else UNKNOWN
        return value

    def _join_elements(self, part: Part, value: tuple[str, ...], separator: str) -> str:
        """Join elements into one text; an element with a glob may have been several."""
        text = join_elements(value, separator)
        return self.either(key_of(part), text, UNKNOWN) if any(map(has_glob, value)) else text

    def _indirect(self, value: Value | None) -> Value | None:
        if not isinstance(value, str) or not is_literal(value):
            return None
        name, _, rest = value.partition("[")
        if rest:
            self.expand_again(rest)
            return element(self._lookup(name), rest.rstrip("]"))
        return self._lookup(name)

    def either(self, key: str, one: _T, other: _T) -> _T:
        return self._choose(key, [one, other])

    def _choose(self, key: str, values: list[_T]) -> _T:
        """Return one value after another, also in combination with everything else that has several."""
        self.alternatives[key] = len(values)
        self.choices = max(self.choices, len(values))
        return values[min(self._choices_made.get(key, self.choice), len(values) - 1)]


def _substitutes(text: str) -> bool:
    """Tell whether a text may contain commands."""
    return "$(" in text or "`" in text or ("${" in text and _IN_BRACES.search(text) is not None)
