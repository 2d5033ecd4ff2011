"""Commands that a script would run, in order, each with its arguments as far as they are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from nacre.shell.frame import TOP, Frame
from nacre.shell.option_tables import OPTION_SPECS
from nacre.shell.options import OptionSpec, ParsedOptions, spec_for
from nacre.shell.symbolic import may_equal, to_display
from nacre.shell.syntax.nodes import Block

_NOTHING: Mapping[str, str] = {}
_ANY = OptionSpec()
MAX_ARGUMENTS = 1 << 30
"""More arguments than there can be."""


class Redirection:
    """A redirection, with its target expanded."""

    __slots__ = ("descriptor", "operator", "target")

    def __init__(self, descriptor: str, operator: str, target: str) -> None:
        self.descriptor = descriptor
        self.operator = operator
        self.target = target

    @property
    def writes(self) -> bool:
        """True if it writes to a file; duplicating or closing a descriptor does not count."""
        return ">" in self.operator and not (self.operator == ">&" and (self.target.isdigit() or self.target == "-"))


class Command:
    """A program, builtin or function that would run."""

    __slots__ = (
        "argv",
        "assigned",
        "cache",
        "certain_args",
        "cwd",
        "cwd_certain",
        "end",
        "frame",
        "home",
        "is_function_call",
        "name",
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
        """The `NAME=value` assignments before it."""
        self.stdin: str | None = None
        """Contents of its standard input, as far as known; None if it is the caller's input."""
        self.script: str | None = None
        """The code that it would execute, if it is a shell or an interpreter."""
        self.frame: Frame = TOP
        """Its surroundings: what runs it, its pipes, the operator before it."""
        self.is_function_call = False
        """True if it calls a function of the script, even if a program or builtin has that name."""
        self.cache: dict[str, object] = {}
        """Results that rules have computed for it, for the next rule."""
        self.certain_args = MAX_ARGUMENTS
        """Number of arguments, from the first on, whose positions are certain: an unquoted `$x` may expand to no word
        or to several, and so may a glob."""
        self.cwd_certain = True
        """True if `cwd` is certain: no `cd` that may have failed comes before it."""

    @property
    def parent(self) -> Command | None:
        """The wrapper that runs it: `sudo`, `bash -c`."""
        return self.frame.parent

    @property
    def operator_before(self) -> str:
        """How it, or the construct that contains it, is joined to a command before it: `;` (also for a newline, `&`,
        `then`) or `&&`."""
        return self.frame.operator

    @property
    def pipe_in(self) -> int:
        """Number of the pipe that it reads from; 0 for none.

        Each `|`, `<(…)` and `>(…)` is a pipe with a unique number, assigned as the script is interpreted; a coprocess
        has two. Data written to a pipe is read by the commands whose `pipe_in` is its number. As with processes,
        commands inside a command (a group, a function, a text it executes) inherit its pipes unless they make their
        own: in `eval "a | b" | c`, `b` writes to the pipe that `c` reads."""
        return self.frame.pipes[0]

    @property
    def pipe_out(self) -> int:
        """Number of the pipe that it writes to; 0 for none."""
        return self.frame.pipes[1]

    @property
    def words(self) -> str:
        """The command line for display; unknown parts are `…`."""
        return " ".join(to_display(word) for word in self.argv)

    @property
    def args(self) -> tuple[str, ...]:
        return self.argv[1:]

    @property
    def via(self) -> tuple[str, ...]:
        """Names of the wrappers around it, outermost first."""
        names, parent = [], self.parent
        while parent is not None:
            names.append(parent.name)
            parent = parent.parent
        return tuple(reversed(names))

    def runs(self, *names: str) -> bool:
        """Tell whether its name is one of these, or a glob that may match one (`r?` for `rm`)."""
        return self.name in names or any(may_equal(self.name, name) for name in names)

    def options(self) -> Iterator[str]:
        """Yield each argument that is an option, up to `--`."""
        for word in self.argv[1:]:
            if word == "--":
                return
            if word[:1] == "-" and word != "-":
                yield word

    @property
    def parsed(self) -> ParsedOptions:
        """The arguments as options and operands, by the option table of this program if it has one."""
        known = self.cache.get("given")
        if not isinstance(known, ParsedOptions):
            known = self.cache["given"] = OPTION_SPECS.get(self.name, _ANY).parse(self.argv[1:])
        return known

    def has_flag(self, *flags: str) -> bool:
        """Tell whether one of these options is given: `-f` also in a cluster (`-rf`), `--force` also as `--for`."""
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
        """Return the arguments that are not options.

        `valued`: the options that take a value (`-C`, `--file`); ignored if the program has an option table.
        """
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
    """Sort flags into letters, long flags, and others such as `-delete`."""
    letters = frozenset(flag[1] for flag in flags if len(flag) == 2)
    long = tuple(flag for flag in flags if flag.startswith("--"))
    return letters, long, tuple(flag for flag in flags if len(flag) > 2 and not flag.startswith("--"))


def drop_known(commands: list[Command], first: int, known: set[tuple[object, ...]]) -> int:
    """Remove the commands from index `first` on that are in `known`, and add the others to it.

    Returns how many were removed.
    """
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
    """A parsed script and the commands that it would run."""

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
        """Its syntax tree; None if it could not be parsed."""
        self.commands: list[Command] = []
        self.fork_bombs: list[tuple[int, int]] = []
        """Spans of fork bombs: functions that start copies of themselves without end, and loops that only start
        processes."""
        self.syntax_error = False
        """True if bash would report a syntax error, after running the commands before it."""
        self.maybe_syntax_error = False
        """True if a text that it seems to run has a syntax error; that text may have been guessed wrong."""
        self.gave_up = ""
        """Why the analysis stopped before the end (nested too deeply, too much work); empty if it did not."""
        self.env_runs_code = False
        """True if the environment given to it has values that are code."""
        self.unknown: dict[str, None] = {}
        """Names of variables and substitutions whose values are known only at run time."""
