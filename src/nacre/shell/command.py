"""What a text would run: Commands, in order, each with the words it would get as far as they are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from nacre.shell.option_tables import OPTION_SPECS
from nacre.shell.options import OptionSpec, ParsedOptions, spec_for
from nacre.shell.symbolic import may_equal, to_display
from nacre.shell.syntax.nodes import Block

_NOTHING: Mapping[str, str] = {}
_ANY = OptionSpec()
MAX_ARGUMENTS = 1 << 30
"""More arguments than there can be."""


class Redirection:
    """A redirection as it would take effect."""

    __slots__ = ("descriptor", "operator", "target")

    def __init__(self, descriptor: str, operator: str, target: str) -> None:
        self.descriptor = descriptor
        self.operator = operator
        self.target = target

    @property
    def writes(self) -> bool:
        return ">" in self.operator and not (self.operator == ">&" and (self.target.isdigit() or self.target == "-"))


class Command:
    """One program, builtin or function that would run."""

    __slots__ = (
        "argv",
        "assigned",
        "cache",
        "certain_args",
        "cwd",
        "cwd_certain",
        "end",
        "home",
        "is_function_call",
        "name",
        "operator_before",
        "parent",
        "pipe_in",
        "pipe_out",
        "redirects",
        "script",
        "start",
        "stdin",
    )  # fmt: skip

    def __init__(self, argv: tuple[str, ...], start: int, end: int, *, cwd: str, home: str) -> None:
        self.argv = argv
        self.name = argv[0].rpartition("/")[2] if argv else ""
        self.start = start
        self.end = end
        self.cwd = cwd
        self.home = home
        self.redirects: tuple[Redirection, ...] = ()
        self.assigned: Mapping[str, str] = _NOTHING
        """`NAME=value` before it."""
        self.stdin: str | None = None
        """What it reads, where that is known to be something else than the caller's input."""
        self.script: str | None = None
        """The text that it would execute, if it is a shell or an interpreter."""
        self.parent: Command | None = None
        """The wrapper that runs it: `sudo`, `bash -c`."""
        self.operator_before = ""
        """How it, or what it is a part of, hangs on a command before it: `;` (also a newline, `&`, `then`) or `&&`."""
        self.is_function_call = False
        """It is a function of the script's own, whatever else has that name."""
        self.cache: dict[str, object] = {}
        """What rules have worked out about it, for the next rule."""
        self.certain_args = MAX_ARGUMENTS
        """So many of its arguments, from the first on, are surely in their places: an unquoted `$x` may be no word, or
        several, and so may a glob."""
        self.cwd_certain = True
        """It surely runs in `cwd`: no `cd` that may have failed stands before it."""
        self.pipe_in = self.pipe_out = 0
        """The pipes it reads from and writes into, 0 where there is none. Every `|`, `<(…)`, `>(…)` is a pipe with a
        number of its own, given as the script is followed, and a coprocess has two: what goes into a pipe is read by
        the commands whose `pipe_in` is that number. As with processes, whatever runs in a command (a group, a function,
        a text it executes) has its pipes where it makes none: in `eval "a | b" | c`, `b` writes into what `c` reads."""

    @property
    def words(self) -> str:
        """As a reader would write it."""
        return " ".join(to_display(word) for word in self.argv)

    @property
    def args(self) -> tuple[str, ...]:
        return self.argv[1:]

    @property
    def via(self) -> tuple[str, ...]:
        """The wrappers around it, outermost first."""
        names, parent = [], self.parent
        while parent is not None:
            names.append(parent.name)
            parent = parent.parent
        return tuple(reversed(names))

    def runs(self, *names: str) -> bool:
        return self.name in names or any(may_equal(self.name, name) for name in names)

    def options(self) -> Iterator[str]:
        """Every word that is an option, up to `--`."""
        for word in self.argv[1:]:
            if word == "--":
                return
            if word[:1] == "-" and word != "-":
                yield word

    @property
    def parsed(self) -> ParsedOptions:
        """The arguments, sorted by what this program's options take, as far as that is known."""
        known = self.cache.get("given")
        if not isinstance(known, ParsedOptions):
            known = self.cache["given"] = OPTION_SPECS.get(self.name, _ANY).parse(self.argv[1:])
        return known

    def has_flag(self, *flags: str) -> bool:
        """Any of these options: `-f` also in a cluster (`-rf`), `--force` also abbreviated (`--for`)."""
        letters, long, other = _kinds(flags)
        if self.name in OPTION_SPECS:
            return any(_among(name, long) if name[1] == "-" else name in flags for name, _ in self.parsed.options)
        for word in self.argv[1:]:
            if word[:1] != "-":
                continue
            if word == "--":
                return False
            if word.startswith("--"):
                if _among(word.partition("=")[0], long):
                    return True
            elif word in other or not letters.isdisjoint(word):
                return True
        return False

    def operands(self, *valued: str) -> list[str]:
        """The words that are no options. `valued`: those that take a value (`-C`, `--file`), if nobody knows better."""
        if self.name in OPTION_SPECS:
            return list(self.parsed.operands)
        if valued:
            return spec_for(valued).parse(self.argv[1:]).operands
        found, only = [], False
        for word in self.argv[1:]:
            if only or word[:1] != "-" or word == "-":
                found.append(word)
            elif word == "--":
                only = True
        return found


def _among(name: str, long: tuple[str, ...]) -> bool:
    return name in long or (len(name) > 3 and any(flag.startswith(name) for flag in long))


@lru_cache(256)
def _kinds(flags: tuple[str, ...]) -> tuple[frozenset[str], tuple[str, ...], tuple[str, ...]]:
    """Flags sorted: letters, long ones, and others such as `-delete`."""
    letters = frozenset(flag[1] for flag in flags if len(flag) == 2)
    long = tuple(flag for flag in flags if flag.startswith("--"))
    return letters, long, tuple(flag for flag in flags if len(flag) > 2 and not flag.startswith("--"))


def drop_known(commands: list[Command], first: int, known: set[tuple[object, ...]]) -> int:
    """Of the commands from there on only those stay that are not known; from now on they are. Gives how many go."""
    stays = []
    for command in commands[first:]:
        opened = [(each.operator, each.target) for each in command.redirects]
        settled = command.cwd, command.cwd_certain
        pipes = command.pipe_in, command.pipe_out
        deed = command.argv, command.start, *settled, *pipes, command.stdin, command.script, *opened
        if deed not in known:
            known.add(deed)
            stays.append(command)
    gone = len(commands) - first - len(stays)
    commands[first:] = stays
    return gone


class Script:
    """A text, read."""

    __slots__ = (
        "block",
        "commands",
        "env_runs_code",
        "fork_bombs",
        "gave_up",
        "maybe_syntax_error",
        "syntax_error",
        "text",
        "unknown",
    )

    def __init__(self, text: str) -> None:
        self.text = text
        self.block: Block | None = None
        """The tree it was read into."""
        self.commands: list[Command] = []
        self.fork_bombs: list[tuple[int, int]] = []
        """Functions that start copies of themselves without end."""
        self.syntax_error = False
        """bash would stumble over its syntax, after having run what stands before."""
        self.maybe_syntax_error = False
        """A text that it seems to run is broken; we may have guessed it wrong."""
        self.gave_up = ""
        """Why it could not be read to the end: deeper or longer than we follow."""
        self.env_runs_code = False
        """The environment it is given, or its input, runs code of its own."""
        self.unknown: dict[str, None] = {}
        """What only running it would tell: names of variables, substitutions."""
