"""Words → the fields bash would make of them, as far as that can be known: quotes, tildes, variables, splitting, globs.

Substitutions run commands; these are reported to `Runs`, which says what they would print.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol, TypeVar

from nacre.base.lazy_regex import later
from nacre.shell.command import EVERY
from nacre.shell.interpreter.state import State
from nacre.shell.quoting import escape_arg
from nacre.shell.symbolic import (
    LONGEST,
    PARENT,
    SELF,
    SOME,
    STAR,
    UNKNOWN,
    bounded,
    globbed,
    has_glob,
    least,
    origin,
    plain,
    whole,
)
from nacre.shell.syntax.braces import MOST, TooMany, braced
from nacre.shell.syntax.escapes import ansi_c
from nacre.shell.syntax.nodes import Arithmetic, Literal, Parameter, Part, Substitution, Word
from nacre.shell.values.arrays import element, joined
from nacre.shell.values.parameters import capital, cut, effort, recased, replaced, sliced, trimmed
from nacre.shell.values.positional import ANY, Arguments, Lists
from nacre.shell.values.values import Value, either

_T = TypeVar("_T")
_SPACES = " \t\n"
_TILDE = later(r"~([\w.+-]*)(?=/|$)")
_NAME = later(r"[A-Za-z_]\w*", re.ASCII)
_OFFSET = later(r"\s*+(-?[0-9]{0,18})\s*+(?::\s*+(-?[0-9]{1,18})\s*+)?$")
_CALCULATED = later(r"(?:\+\+|--)\s*([A-Za-z_]\w*)|([A-Za-z_]\w*)\s*(?:\+\+|--|(?:<<|>>|[-+*/%&|^])?=(?!=))", re.ASCII)
"""Names that arithmetic gives a value to."""
_IN_BRACES = later(r"\$\{(?:\\\n)*[ \t\n|]")
_EXTENDED = later(r"[?*+@!]\(")
_NUMBERS = frozenset(
    ("RANDOM", "SECONDS", "LINENO", "BASHPID", "UID", "EUID", "?", "!", "-", "#", "HOSTNAME", "BASH_VERSION")
)


_DIGITS = 9
_EFFORT = 10
"""Steps of a pattern that count as one character."""
_NEVER_GIVEN = 7
"""No script gets so many arguments; `$9` is a way to write nothing: `rm$IFS$9-rf`."""
TOO_MUCH = 1_000_000_000
WORD = 250
"""What a word that braces make counts as, in characters; `FIELD`: one that splitting makes; `ELEMENT`: one of an array
that is looked at; `CHANGE`: one of which `${a[@]/x/y}` makes another."""
FIELD = 20
ELEMENT = 4
CHANGE = 160


class Runs(Protocol):
    """Whoever follows the commands inside words."""

    def substitute(self, part: Substitution, state: State) -> list[str]:
        """Its commands would run: what would they print, which of these?"""

    def reread(self, text: str, state: State) -> str:
        """bash expands this text once more (`${x@P}`, a subscript in arithmetic): what does it become?"""

    def close(self, why: str) -> None:
        """It cannot be followed to its end."""

    def kept(self, text: str) -> str:
        """A text for later, unless it is too long."""

    def spend(self, characters: int) -> bool:
        """So much more text is made; whether there is room for it."""

    def wonder(self, what: str) -> None:
        """Here is something that only running it would tell."""


class Expander:
    """The words of one command, at one point of a script."""

    __slots__ = ("_picked", "_printed", "_set", "choice", "choices", "firm", "runs", "several", "state")

    def __init__(self, state: State, runs: Runs) -> None:
        self.state = state
        self.runs = runs
        self.choice = 0
        """Which of several values a variable is taken to have; `choices`: how many the widest one has."""
        self.choices = 1
        self.several: dict[str, int] = {}
        """What may be more than one thing, mostly variables, and how many."""
        self.firm = EVERY
        """As in `Command.firm`, of the words that were expanded last."""
        self._picked: dict[str, int] = {}
        self._printed: dict[int, list[str]] = {}
        self._set: set[int] = set()
        """Expansions that gave a variable its value (`${x:=…}`): it had none before."""

    def fields(self, word: Word) -> list[str]:
        if word.fixed is not None:
            return [word.fixed]
        found = [field for each in self.braced(word) for field in self._split(each.parts)]
        if len(found) > 100:
            self.runs.spend(FIELD * len(found))
        return found

    def assigned_fields(self, start: str, value: Word) -> list[str]:
        """Of `name=value` where that assigns nothing: split like any other word, but a tilde means a home."""
        parts = list(value.parts)
        match parts:
            case [Literal(quoted=False) as first, *_]:
                parts[0] = Literal(self._tilde(first.text), quoted=False)
        return self.fields(Word([Literal(start, quoted=True), *parts]))

    def braced(self, word: Word) -> list[Word]:
        """The words that its braces make of it."""
        try:
            found = braced(word.parts)
        except TooMany:
            self.runs.close(f"a word stands for more than {MOST} words")
            return [Word(None, UNKNOWN)]
        if len(found) == 1:
            return [word]
        self.runs.spend(WORD * len(found))
        return [Word(parts) for parts in found]

    def pick(self, choices: tuple[int, ...]) -> None:
        """From here on each of the `several` has this value of its own."""
        self._picked = dict(zip(self.several, choices, strict=False))

    def text(self, word: Word, *, globs: bool = False, assigned: bool = False) -> str:
        """One text, whatever is in it: the value of an assignment, the target of a redirection."""
        if word.fixed is not None:
            return word.fixed
        out, size = [], 0
        for index, part in enumerate(word.parts):
            if isinstance(part, Literal):
                text = part.text
                if not part.quoted:
                    text = self._tilde(text) if index == 0 else text
                    if assigned and ":~" in text:  # as in `PATH=…:~/bin`
                        first, *rest = text.split(":")
                        text = ":".join((first, *map(self._tilde, rest)))
                    text = globbed(text) if globs else text
                out.append(text)
            else:
                value = self.value(part)
                value = value if isinstance(value, str) else self._joined(part, value, " ")
                out.append(globbed(value) if globs and not part.quoted else value)
                size += len(value)
                if size > LONGEST:  # thousands of them would fill the memory
                    break
        text = "".join(out)
        if len(text) > LONGEST and sum(len(part.text) for part in word.parts if isinstance(part, Literal)) > LONGEST:
            return text  # it is as long in the script itself
        return self._bounded(text)

    def _bounded(self, text: str) -> str:
        """Words may double and double again: what they cost is counted, and what grows out of sight is not followed."""
        if len(text) > 1000:
            self.runs.spend(len(text) if len(text) <= LONGEST else TOO_MUCH)
        return bounded(text)

    def _split(self, parts: list[Part]) -> list[str]:
        fields: list[str] = []
        current: str | None = None
        for index, part in enumerate(parts):
            if isinstance(part, Literal):
                text = part.text
                if not part.quoted:
                    if index == 0:
                        text = self._tilde(text)
                    text = globbed(text)
                current = (current or "") + text
                continue
            value = self.value(part)
            if current is not None and len(current) > LONGEST:
                current = self._bounded(current)
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
            fields.append(self._bounded(current))
        return fields

    def _pieces(self, value: Value, *, quoted: bool) -> list[str | None]:
        """A value cut where fields end; None where nothing stands."""
        if isinstance(value, str):
            return cut(globbed(value), self._separators())
        if quoted:
            return list(value)
        ifs = self._separators()
        return [piece for each in value for piece in cut(globbed(each), ifs)]

    def _separators(self) -> str:
        ifs = self._lookup("IFS")
        return ifs if isinstance(ifs, str) and whole(ifs) else _SPACES

    def _tilde(self, text: str) -> str:
        if text[:1] != "~" or not (found := _TILDE.match(text)):
            return text
        match found[1]:
            case "":
                place = self.state.home
            case "+":
                place = self.state.cwd
            case "-":
                place = SOME
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
                    printed = self._printed[id(part)] = self.runs.substitute(part, self.state)
                return printed[0] if len(printed) == 1 else self._one_of(_key(part), printed)
            case Arithmetic():
                self.arithmetic(self.text(part.expression))
                return SOME
            case Parameter():
                return self._parameter(part)

    def arithmetic(self, expression: str) -> None:
        """Names in it are variables, whose text is an expression again; a subscript may run commands."""
        if _substitutes(expression) and not self._in_map(expression):
            self.runs.reread(expression, self.state)
        for name in dict.fromkeys(_NAME.findall(expression)):
            for value in self.state.variables.of(name):
                if isinstance(value, str):
                    self.subscripts(value)
        if "=" in expression or "++" in expression or "--" in expression:
            for before, after in _CALCULATED.findall(expression):
                self.state.set(before or after, SOME)  # a number, whatever it was

    def subscripts(self, text: str) -> None:
        """A text that is taken for a variable's name: its subscript, if it has one, is evaluated."""
        if "[" in text and _substitutes(text) and not self._in_map(text):
            self.runs.reread(text, self.state)

    def _in_map(self, text: str) -> bool:
        return bool(self.state.maps) and any(f"{name}[" in text for name in self.state.maps)

    def _lookup(self, name: str) -> Value | None:
        values = self.state.variables.get(self.state.references.get(name, name))
        if values:
            if len(values) == 1:
                return values[0]
            return self._one_of(name, values)
        match name:
            case "@" | "*":
                given = self._arguments()
                return None if given is None else given.words
            case "IFS":
                return _SPACES
            case "PWD":
                return self.state.cwd if self.state.settled else self._perhaps(name, self.state.cwd, SOME)
            case "OLDPWD":
                return UNKNOWN
            case "USER" | "LOGNAME":
                return self.state.user
            case "PPID":
                return PARENT
            case "$":
                return SELF
            case "0":
                return self.state.zero
        if name.isdigit():
            value = self._argument(int(name[:_DIGITS]))
            return SOME if name in self.state.given and value in (None, "", UNKNOWN) else value
        return SOME if name in _NUMBERS else None

    def _arguments(self) -> Arguments | None:
        """All of them, as they are on the way that is followed."""
        lists = self.state.arguments
        if any(each.firm < 0 for each in lists) and lists != (ANY,):
            lists = tuple(dict.fromkeys((*lists, ANY)))
        return self._listed(lists)

    def _listed(self, lists: Lists) -> Arguments | None:
        if ANY in lists:
            self.runs.wonder("$@")
        return self._one_of("@", list(lists)) if len(lists) > 1 else lists[0] if lists else None

    def _argument(self, number: int) -> Value | None:
        given = self._listed(self.state.arguments)
        if given is None:
            return "" if number >= _NEVER_GIVEN else None
        arguments, firm = given
        value = arguments[number - 1] if number <= len(arguments) else ""
        if number <= firm or value == UNKNOWN or (number == firm + 1 and value and whole(value)):
            return value
        full = 0 <= firm < number <= len(arguments) and all(map(least, arguments[firm:number]))
        return self._perhaps(str(number), value, SOME if full else UNKNOWN)

    def _parameter(self, part: Parameter) -> Value:
        value = self._lookup(part.name)
        if isinstance(value, tuple) and not self.runs.spend((CHANGE if part.operator else ELEMENT) * len(value)):
            return UNKNOWN
        subscript = None if part.subscript is None else self.text(part.subscript)
        if subscript is not None:
            if part.name not in self.state.maps:
                self.arithmetic(subscript)
            value = element(value, subscript, mapped=part.name in self.state.maps)
        elif isinstance(value, tuple) and part.name not in "@*":
            value = element(value, "0", mapped=part.name in self.state.maps)
        if part.indirect:
            value = self._indirect(value)
        if part.length:
            return SOME
        if isinstance(value, tuple) and (part.name == "*" or subscript == "*") and part.quoted:
            value = self._joined(part, value, self._separators()[:1])
        if part.operator:
            return self._operated(part, value)
        if value == UNKNOWN and part.name == "BASH_REMATCH":
            self.runs.wonder("$BASH_REMATCH")
        if value is None:
            self.runs.wonder(f"${part.name}")
            return SOME if self.state.nounset and part.name not in "@*" else UNKNOWN
        return value

    def _joined(self, part: Part, value: tuple[str, ...], separator: str) -> str:
        """In one text; a glob among them may have been several."""
        text = joined(value, separator)
        return self._perhaps(_key(part), text, UNKNOWN) if any(map(has_glob, value)) else text

    def _indirect(self, value: Value | None) -> Value | None:
        if not isinstance(value, str) or not plain(value):
            return None
        name, _, rest = value.partition("[")
        if rest:
            self.runs.reread(rest, self.state)
            return element(self._lookup(name), rest.rstrip("]"))
        return self._lookup(name)

    def _operated(self, part: Parameter, value: Value | None) -> Value:
        operator, argument = part.operator, part.argument
        assert argument is not None
        if operator[-1] in "-=":
            other = self.text(argument)
            if value is None or (operator[0] == ":" and value in ("", ())) or value == () or id(part) in self._set:
                if operator[-1] == "=":
                    known = self.state.variables.of(part.name) if id(part) in self._set else []
                    self.state.variables[part.name] = either(known, [other])
                    self._set.add(id(part))
                return other
            return self._perhaps(_key(part), SOME, other) if value == UNKNOWN and operator[0] == ":" else value
        if operator[-1] == "+":
            other = self.text(argument)
            if value is None or value == UNKNOWN:
                return self._perhaps(_key(part), other, "")
            return "" if operator[0] == ":" and value in ("", ()) else other
        if operator[-1] == "?":
            self.text(argument)
            if operator == ":?" and part.subscript is None and _NAME.fullmatch(part.name):
                self.state.require(part.name)
            return SOME if value is None or value in ("", UNKNOWN, ()) else value
        if operator[0] in "#%/^,~":
            return self._by_pattern(part, value, argument)
        given = self.text(argument)
        if operator == ":":
            self.arithmetic(given)
        if value is None:
            self.runs.wonder(f"${{{part.name}{operator}…}}")
            return UNKNOWN
        if isinstance(value, tuple):
            if operator == ":" and (found := _OFFSET.match(given)):
                return self._sliced(part, value, found)
            return tuple(self._bounded(self._changed(each, operator, given)) for each in value)
        return self._bounded(self._changed(value, operator, given))

    def _by_pattern(self, part: Parameter, value: Value | None, argument: Word) -> Value:
        """`${x#…}`, `${x/…/…}`, `${x^…}` and their like."""
        operator, replacement = part.operator, ""
        if operator[0] == "/":
            argument, other = _halves(argument)
            replacement = self.text(other)
        glob = self.text(argument, globs=True)
        if value is None:
            self.runs.wonder(f"${{{part.name}{operator}…}}")
            return UNKNOWN
        unquoted = [each.text for each in argument.parts if isinstance(each, Literal) and not each.quoted]
        if any(map(_EXTENDED.search, unquoted)):
            return origin("".join(value))
        if isinstance(value, tuple):
            return tuple(self._bounded(self._fitted(part, each, glob, replacement)) for each in value)
        return self._bounded(self._fitted(part, value, glob, replacement))

    def _sliced(self, part: Parameter, value: tuple[str, ...], found: re.Match[str]) -> Value:
        """`${@:2}`, `${x[@]:1:2}`: of what is cut off, or counted, one may be none, or several."""
        if part.name in "@*":
            given = self._arguments()
            value, firm = (self.state.zero, *value), EVERY if given is None else given.firm + 1
        else:
            firm = next((index for index, each in enumerate(value) if each == UNKNOWN or has_glob(each)), EVERY)
        first, length = int(found[1] or 0), int(found[2] or 0)
        some = sliced(value, found)
        if firm >= EVERY or (first >= 0 <= length and first <= firm and first + length <= firm + 1):
            return some
        return self._perhaps(_key(part), some, (UNKNOWN,))

    def _fitted(self, part: Parameter, value: str, glob: str, replacement: str) -> str:
        operator = part.operator
        if not whole(value):
            return UNKNOWN
        if operator[0] in "^,~":
            return recased(value, operator, glob)
        self.runs.spend(effort(value, glob) // _EFFORT)
        if operator[0] != "/":
            return trimmed(value, operator, glob)
        text = replaced(value, operator, glob, replacement, literally=False)
        if "&" not in replacement:
            return text
        return self._perhaps(_key(part), text, replaced(value, operator, glob, replacement, literally=True))

    def _perhaps(self, key: str, one: _T, other: _T) -> _T:
        return self._one_of(key, [one, other])

    def _one_of(self, key: str, values: list[_T]) -> _T:
        """One after another, and each in combination with whatever else has several."""
        self.several[key] = len(values)
        self.choices = max(self.choices, len(values))
        return values[min(self._picked.get(key, self.choice), len(values) - 1)]

    def _changed(self, value: str, operator: str, given: str) -> str:
        if operator == "@":
            if given == "P":
                return self.runs.reread(value, self.state)
            return _CHANGES[given](value) if given in _CHANGES else origin(value)
        found = _OFFSET.match(given) if operator == ":" and whole(value) else None
        if found is None:
            return UNKNOWN
        if has_glob(value):
            return STAR  # any part of any name that fits
        text = sliced(value, found)
        return text if isinstance(text, str) else UNKNOWN


_CHANGES: dict[str, Callable[[str], str]] = {
    "U": str.upper, "L": str.lower, "u": capital, "Q": escape_arg, "E": ansi_c,
}  # fmt: skip


def _key(part: Part) -> str:
    """Its own among those of one command."""
    return f"${id(part)}"


def _substitutes(text: str) -> bool:
    """Whether there may be commands in it."""
    return "$(" in text or "`" in text or ("${" in text and _IN_BRACES.search(text) is not None)


def _halves(argument: Word) -> tuple[Word, Word]:
    """Of `${x/searched/replacement}`."""
    for index, part in enumerate(argument.parts):
        if isinstance(part, Literal) and not part.quoted and "/" in part.text:
            before, _, after = part.text.partition("/")
            searched = [*argument.parts[:index], Literal(before, quoted=False)]
            return Word(searched), Word([Literal(after, quoted=False), *argument.parts[index + 1 :]])
    return argument, Word([])
