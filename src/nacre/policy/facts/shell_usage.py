"""Uses of shells: which programs are shells, and whether one reads its commands from a pipe."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.rule import Hit
from nacre.shell import Command, Script
from nacre.shell.programs.shells import SHELLS, is_interpreter, shell_options
from nacre.shell.symbolic import is_fully_known

_STATEMENT = lazy_regex(r"(?:^|[\n;{])\s*$")
"""Matches the text before a statement, in most languages."""
_RUN = lazy_regex(
    r"\b(?:exec|eval|system|popen|execSync|shell_exec|passthru|Function|getoutput|check_output|check_call|run|call|Popen)"
    r"\s?[( ]\s?[rbfu]?(?:\'\'\'|\"\"\"|[\"\'`])?$"
)
"""Matches the text before a string that is executed."""


def is_shell(program: str) -> bool:
    """Return whether a program is a shell, by its name or path."""
    return program.rsplit("/", 1)[-1] in SHELLS


def reads_commands_from_pipe(command: Command) -> bool:
    """Return whether a command is a shell that executes its stdin, whose contents are unknown."""
    if not is_shell(command.name):
        return False
    flags, _, rest = shell_options(command.argv)
    if "c" in flags or (rest and "s" not in flags):
        return False
    return not command.stdin or not is_fully_known(command.stdin)


def executes(command: Command, mark: str) -> Hit | None:
    """Return a hit if marked text is executed: as a command or as code in another language, not as data in that."""
    if mark in "".join(command.argv[:1]):
        outer = command.parent
        while outer is not None and mark not in (outer.script or ""):
            outer = outer.parent
        return Hit(words="$(…)" if outer is None else outer.words)
    code = command.script
    if not code or mark not in code or not is_interpreter(command.name):  # shells' scripts are followed elsewhere
        return None
    from nacre.shell.programs.code_literals import QUOTED  # slow

    quoted = [found.span() for found in QUOTED.finditer(code)]
    at = code.find(mark)
    while at >= 0:
        before = code[max(0, at - 200) : at]
        span = bisect(quoted, (at, at)) - 1
        inside = span >= 0 and quoted[span][0] < at < quoted[span][1]
        if _RUN.search(before) or (not inside and _STATEMENT.search(before)):
            return Hit()
        at = code.find(mark, at + 1)
    return None


def find_pipeline(
    script: Script, writes: Callable[[Command], bool], reads: Callable[[Command], bool], *, through: bool = False
) -> tuple[int, int, Hit] | None:
    """Find a pipe from a command that `writes` accepts to one that `reads` accepts.

    `through`: also through other commands. Returns the range of the text and a hit.
    """
    fed: dict[int, Command] = {}
    for command in script.commands:
        pipe_in, pipe_out = command.frame.pipes
        if pipe_out and pipe_out not in fed and not command.is_function_call:
            first = command if writes(command) else fed.get(pipe_in) if through else None
            if first is not None:
                fed[pipe_out] = first
    if fed:
        for command in script.commands:
            if command.frame.pipes[0] in fed and not command.is_function_call and reads(command):
                return *_span(fed[command.pipe_in], command), Hit()
    return None


def _span(first: Command, last: Command) -> tuple[int, int]:
    """Return the text range of two commands, each widened to its outermost parent that does not contain the other."""
    context = [each.parent for each in _with_parents(first)]
    common = next(each.parent for each in _with_parents(last) if each.parent in context)
    ends = [each for command in (first, last) for each in _with_parents(command) if each.parent is common]
    return min(each.start for each in ends), max(each.end for each in ends)


def _with_parents(command: Command) -> Iterator[Command]:
    here: Command | None = command
    while here is not None:
        yield here
        here = here.parent
