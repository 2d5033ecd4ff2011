"""Decide whether allow rules cover every part of a script, and return the first rule that was needed.

A rule covers commands with its words that run in the working directory or below, without output redirections and
without variables that a program may act on, unless the rule names them. Commands that only read need no rule, nor do
wrappers that change when and how a command runs, but not what (`timeout`, `env`, `xargs`, `bash -c`). `sudo` is not
among these. A rule that ends with the words of a wrapper (`Bash(sudo:*)`) does not cover the command that it runs; a
rule that also names that command does (`Bash(sudo apt update:*)`).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from posixpath import join, normpath

from nacre.base.frozen import replace
from nacre.base.lazy_regex import lazy_regex
from nacre.policy.facts.harmless import COMMANDS, GUARDS
from nacre.policy.permissions.command_words import matches, redirection_words
from nacre.policy.permissions.globs import matches_pieces
from nacre.policy.permissions.patterns import STAR, PermissionPattern, program
from nacre.shell import Command, Script
from nacre.shell.interpreter.budget import FOLLOW_ALL_BELOW
from nacre.shell.programs.shells import shell_options
from nacre.shell.symbolic import is_literal

_CD_COMMANDS = ("cd", "pushd")
_SILENT = frozenset(": true false cd pushd popd exit return break continue shift wait".split())
_READING = COMMANDS - {"git", "env", "command"}
"""Plain git needs `GIT_ENVIRONMENT`, which a command allowed by a rule does not get."""
_WRAPPERS = frozenset(
    "timeout gtimeout time nice ionice nohup stdbuf setsid command builtin exec env xargs eval unbuffer chronic".split()
)
_HARMLESS_FILES = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"))
_HARMLESS_VARIABLES = lazy_regex(
    r"NODE_ENV|CI|(?:NO|FORCE|CLI)_?COLOR\w*|TERM|COLUMNS|LINES|LANG|LANGUAGE|LC_[A-Z]+|TZ|RUST_(?:BACKTRACE|LOG)|"
    r"PYTHON(?:UNBUFFERED|DONTWRITEBYTECODE|HASHSEED)|DEBUG|VERBOSE|LOG_LEVEL|DEBIAN_FRONTEND"
)
_SCRIPT_VARIABLES = lazy_regex(r"(?!npm_|\w+_proxy$)[a-z]\w*")
"""Names of a script's own variables."""
_EMPTYING = ("-i", "--ignore-environment", "--")
"""Options of `env` that set no variable."""
_SHELLS = frozenset(("bash", "sh", "dash", "ash"))
"""Shells whose language the checker parses: in zsh, a glob can run a command."""
_LOOPS = lazy_regex(r"\b(?:for|select)\s+([A-Za-z_]\w*)")
_EXPANDED = lazy_regex(r"\$\{!?([A-Za-z_]\w*)(?:\[[^\]]*\])?:?=")
_COUNTED = lazy_regex(
    r"([A-Za-z_]\w*)(?:\[[^\]]*\])?\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)|(?:\+\+|--)\s*([A-Za-z_]\w*)"
)
"""Matches assignments in arithmetic: `((n += 1))`."""
_ASSIGNED = lazy_regex(r"(?:^|\s)([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=")


def covering_rule(script: Script, patterns: list[PermissionPattern], cwd: str) -> PermissionPattern | None:
    """Return the first rule that was needed to allow all of a script; None if the rules do not cover it."""
    for pattern in patterns:
        if pattern.everything or (pattern.text and pattern.exact and pattern.source == script.text.strip()):
            return pattern
    unread = script.gave_up or script.syntax_error or script.maybe_syntax_error or script.env_runs_code
    if unread or len(script.commands) >= FOLLOW_ALL_BELOW:  # beyond this limit, not every call is followed
        return None
    texts = dict.fromkeys((script.text, *(each.script for each in script.commands if each.script is not None)))
    if not all(map(_assigns_script_variables, texts)) or not all(map(is_literal, texts)):
        return None
    return _CoverageCheck(script, patterns, cwd).rule()


def _assigns_script_variables(text: str) -> bool:
    """Return whether assignments other than `NAME=value` only set the script's own variables."""
    names = [*_LOOPS.findall(text), *_EXPANDED.findall(text)]
    if "((" in text or "$[" in text:
        names += [name for found in _COUNTED.findall(text) for name in found if name]
    return all(map(_is_script_variable, names)) and "@P}" not in text


def _is_script_variable(name: str) -> bool:
    return _SCRIPT_VARIABLES.fullmatch(name) is not None or _HARMLESS_VARIABLES.fullmatch(name) is not None


class _CoverageCheck:
    def __init__(self, script: Script, patterns: list[PermissionPattern], cwd: str) -> None:
        self._script = script
        self._patterns = [pattern for pattern in patterns if not pattern.text]
        self._cwd = cwd
        self._below: dict[int, list[Command]] = {}
        known = {id(command) for command in script.commands}
        self._roots = [each for each in script.commands if each.parent is None or id(each.parent) not in known]
        for command in script.commands:
            if command.parent is not None:
                self._below.setdefault(id(command.parent), []).append(command)
        self._used: list[PermissionPattern] = []

    def rule(self) -> PermissionPattern | None:
        if not all(self._is_covered(command, 0) for command in self._roots):
            return None
        return self._used[0] if self._used else None

    def _is_covered(self, command: Command, named: float) -> bool:
        """Return whether a command and all that it runs are covered.

        `named`: number of the command's words that a rule for the surrounding command has named.
        """
        if command.is_function_call:
            return self._quiet(command)  # the commands of its body are checked separately
        below = self._below.get(id(command), [])
        pattern = self._pattern(command) if named < inf else None
        if pattern is not None:
            self._used.append(pattern)
            named = max(named, inf if pattern.exact else max(1, pattern.named))
        elif named < inf and not self._quiet(command):
            return False
        if not named and not (_is_wrapper(command) if below else _is_harmless(command, self._script)):
            return False
        if not named and command.name in _CD_COMMANDS and not self._stays(command):
            return False
        return all(self._is_covered(each, _named_words_left(command, each, named)) for each in below)

    def _pattern(self, command: Command) -> PermissionPattern | None:
        """Return the rule that matches the command with the most words; None if none does."""
        if not command.argv or not is_literal(command.argv[0]) or not self._is_here(command) or _reaches_out(command):
            return None
        words = (program(command.argv[0]), *command.args)
        before = tuple(f"{name}={value}" for name, value in command.assigned.items())
        writing = () if _writes_nothing(command) else redirection_words(command)
        rules = [pattern for pattern in self._patterns if _redirections(pattern) >= len(writing) // 2]
        said = (*words, *writing)
        found = [pattern for pattern in rules if before and _sets(pattern, before, said, command.home)]
        if _are_harmless_variables(command.assigned):
            found += [pattern for pattern in rules if matches(pattern, said, command.home)]
        return max(found, key=lambda each: inf if each.exact else each.named, default=None)

    def _stays(self, command: Command) -> bool:
        """Return whether `cd` leads here or below, from each directory in which it may run: `cd x || cd /`."""
        words = [word for word in command.args if word not in ("-P", "-L", "-e", "-n", "--")]
        if not words:
            return command.name != "cd"
        starts = (command.cwd,) if command.cwd_certain else (command.cwd, self._cwd)
        ends = [normpath(join(start, word)) for start in starts for word in words if word]
        return "-" not in words and all(map(self._is_below, ends))

    def _quiet(self, command: Command) -> bool:
        aside = not _writes_nothing(command) or _reaches_out(command)
        return not aside and self._is_here(command) and _are_harmless_variables(command.assigned)

    def _is_here(self, command: Command) -> bool:
        return self._is_below(command.cwd)

    def _is_below(self, path: str) -> bool:
        place = self._cwd.rstrip("/")
        return not self._cwd or path == self._cwd or (is_literal(path) and path.startswith(place + "/"))


def _named_words_left(outer: Command, inner: Command, named: float) -> float:
    """Return the number of named words that belong to the command that a wrapper runs."""
    if named == inf:
        return inf if outer.script is None or outer.script in outer.argv else 0  # no rule names a script on stdin
    for place in range(1, len(outer.argv)):
        rest = outer.argv[place:]
        if rest == inner.argv[: len(rest)]:
            return max(0, named - place)
    return 0


def _sets(pattern: PermissionPattern, before: tuple[str, ...], words: tuple[str, ...], home: str) -> bool:
    """Return whether a rule names the variables, and then the words."""
    names, rest = pattern.words[: len(before)], pattern.words[len(before) :]
    if not rest or not all(
        matches_pieces(name.split(STAR), given) and "=" in name for name, given in zip(names, before, strict=True)
    ):
        return False
    return matches(replace(pattern, words=rest), words, home)


def _redirections(pattern: PermissionPattern) -> int:
    """Return the number of output redirections that a rule names."""
    return sum(">" in word for word in pattern.words) if pattern.writes else 0


def _writes_nothing(command: Command) -> bool:
    return all(each.target in _HARMLESS_FILES for each in command.redirects if each.writes)


def _reaches_out(command: Command) -> bool:
    """Return whether bash itself would open a network connection."""
    return any(each.target.startswith(("/dev/tcp/", "/dev/udp/")) for each in command.redirects)


def _are_harmless_variables(names: Iterable[str]) -> bool:
    """Return whether these variables only change how output looks."""
    return all(_HARMLESS_VARIABLES.fullmatch(name) for name in names)


def _is_harmless(command: Command, script: Script) -> bool:
    """Return whether a command needs no rule."""
    if not command.argv:
        names = _ASSIGNED.findall(script.text[command.start : command.end])
        return all(map(_is_script_variable, names)) and (bool(names) or bool(command.redirects))
    name = program(command.argv[0])
    if name in _SILENT:
        return True
    guard = GUARDS.get(name)
    return name in _READING and (guard is None or (all(map(is_literal, command.args)) and guard(command.args)))


def _is_wrapper(command: Command) -> bool:
    """Return whether a command changes when and how another one runs, but not what it does."""
    name = program(command.argv[0]) if command.argv else ""
    if name in _SHELLS:
        flags, settings, rest = shell_options(command.argv)
        reads = "c" in flags or not rest
        return reads and set(flags) <= set("ceuxo") and set(settings) <= {"pipefail", "errexit", "nounset", "xtrace"}
    if name == "xargs":
        return not command.has_flag("--process-slot-var")
    if name == "time":
        return not command.has_flag("-o", "--output")
    if name == "env":
        return _are_harmless_variables(
            word.partition("=")[0] for word in _before_command(command) if word not in _EMPTYING
        )
    return name in _WRAPPERS


def _before_command(command: Command) -> tuple[str, ...]:
    from nacre.shell.programs.wrappers import ENV

    argv = tuple("-i" if word == "-" else word for word in command.argv)
    return argv[1 : len(argv) - len(ENV.command(argv))]
