"""find and fd: the files that they find, their output, and the commands that they run."""

from __future__ import annotations

import re
from itertools import pairwise

from nacre.base.lazy_regex import lazy_regex
from nacre.shell.command import Command
from nacre.shell.interpreter.commands import ProgramHandler
from nacre.shell.interpreter.interpreter import Interpreter
from nacre.shell.interpreter.state import State
from nacre.shell.options import OptionSpec
from nacre.shell.symbolic import ALL_FOUND, STAR, UNKNOWN, UNKNOWN_NONEMPTY, is_literal, to_source
from nacre.shell.syntax.escapes import ansi_c

_CHOOSES = lazy_regex(
    r"-(?:i?name|i?path|i?wholename|i?regex|i?lname|[acm]time|[acm]min|size|empty|[acB]?newer\w*|user|group|uid|gid|perm|"
    r"links|inum|samefile|nouser|nogroup|used|fstype|executable|xtype)"
)
_LITERAL = lazy_regex(r"[\w.@+ -]+", re.ASCII)
_FIND_PRINTS = {"-printf": (0, 1), "-fprintf": (1, 2), "-fprint": (1, 0), "-fprint0": (1, 0), "-fls": (1, 0)}
"""Offsets, from the option, of the file that it writes to and of its format; 0: it has none."""
_ANYTHING = frozenset(("*", ".*", "./*", "**", "*/*", ".*/.*"))
_DIRECTIVE = lazy_regex(r"%[-+ #0]*\d*(?:\.\d+)?(?:[ABCT].|.)", re.DOTALL)
_FD = OptionSpec(
    "cdeEjoStT",
    "extension exclude type max-depth min-depth exact-depth size changed-within changed-before changed-after newer "
    "older owner threads color base-directory search-path max-results path-separator format and batch-size ignore-file",
    flags="hidden no-ignore no-ignore-vcs unrestricted case-sensitive ignore-case glob regex fixed-strings "
    "absolute-path list-details follow full-path print0 quiet one-file-system prune",
)
_FD_RUNS = lazy_regex(r"-[HIuasiFgLlp0]*[xX]|--exec(?:-batch)?")
_FD_CHOOSES = (
    "-e", "--extension", "-S", "--size", "--changed-within", "--changed-before", "--changed-after", "--newer",
    "--older", "-o", "--owner", "--and", "--max-results", "-1",
)  # fmt: skip
_FD_KINDS = frozenset(("f", "file", "d", "dir", "directory"))
"""Values of `-t` that do not choose among the paths found."""
_FD_ANYTHING = frozenset((".", "", "^", ".*", "*", "**"))


def _find(interpreter: Interpreter, command: Command, state: State) -> str:
    words = command.args
    index = next(
        (i for i, word in enumerate(words) if word[:1] in ("-", "(", "!") and word not in ("-H", "-L", "-P")),
        len(words),
    )
    starts = [word for word in words[:index] if word not in ("-H", "-L", "-P")] or ["."]
    found, silent = _found_paths(words), False
    while index < len(words):
        if words[index] in ("-exec", "-execdir", "-ok", "-okdir"):
            end = index + 1
            stdin = None if words[index].startswith("-exec") else ""  # `-ok` reads the answers from it
            while end < len(words) and words[end] not in (";", "+"):
                end += 1
            for path in _paths(starts, [ALL_FOUND] if found == [STAR] else found):
                if not interpreter.script.gave_up:
                    interpreter.scripts.run_wrapped(
                        command, interpreter.scripts.substitute_marker(words[index + 1 : end], "{}", path), state, stdin
                    )
            index = end
        elif words[index] in _FIND_PRINTS:
            itself = starts[0] if len(starts) == 1 and ("-maxdepth", "0") in pairwise(words) else UNKNOWN_NONEMPTY
            to, form = _FIND_PRINTS[words[index]]
            text = (
                _printf_output(ansi_c("".join(words[index + form : index + form + 1])), itself)
                if form
                else UNKNOWN_NONEMPTY
            )
            if not to:
                return text
            state.files[state.path("".join(words[index + to : index + to + 1]))] = text
            silent, index = True, index + (form or to)
        index += 1
    if silent:
        return ""
    if found == [UNKNOWN_NONEMPTY] or not all(is_literal(start) for start in starts):
        return UNKNOWN_NONEMPTY
    if found == [STAR] and "-maxdepth" not in words:
        found = [ALL_FOUND]
    return "\n".join(_paths(starts, found))


def _paths(starts: list[str], found: list[str]) -> list[str]:
    return [f"{start.rstrip('/')}/{each}" for start in starts for each in found]


def _printf_output(form: str, itself: str) -> str:
    """Return the output of `-printf` for one found file, of which only the path may be known."""
    known = {"%%": "%", "%p": itself}
    return _DIRECTIVE.sub(lambda found: known.get(found[0], UNKNOWN), form)


def _found_paths(words: tuple[str, ...]) -> list[str]:
    """Return what is found below the starting points: everything, something, or files with one of these names."""
    if not chooses_among_found(words):
        return [STAR]
    names = [after for word, after in pairwise(words) if word == "-name" and _LITERAL.fullmatch(after)]
    if "-mindepth" in words:
        names = [f"{UNKNOWN_NONEMPTY}/{name}" for name in names]
    elif ("-maxdepth", "1") not in pairwise(words):
        names = [each for name in names for each in (name, f"{UNKNOWN_NONEMPTY}/{name}")]
    return names[:8] or [UNKNOWN_NONEMPTY]


def chooses_among_found(words: tuple[str, ...]) -> bool:
    """Tell whether these arguments of `find` choose among the files found.

    `-type f` is not such a choice, and neither are tests that exclude files.
    """
    for index, word in enumerate(words):
        value = to_source("".join(words[index + 1 : index + 2]))
        negated = words[max(0, index - 1) : index] in (("!",), ("-not",))
        if word == "-type" and value == "l":
            return True
        if _CHOOSES.fullmatch(word) and not negated and value not in _ANYTHING:
            return True
    return False


def _fd(interpreter: Interpreter, command: Command, state: State) -> str:
    """Follow the command after `-x`, which goes up to `;`, and return the output of fd."""
    words = command.args
    at = next((index for index, word in enumerate(words) if _FD_RUNS.fullmatch(word)), len(words))
    rest = words[at + 1 :]
    end = rest.index(";") if ";" in rest else len(rest)
    given = _FD.parse(words[:at] + rest[end + 1 :])
    pattern, *starts = given.operands or [""]
    starts = starts or given.values("--search-path", "--base-directory") or ["."]
    kinds = given.values("-t", "--type")
    chooses = pattern not in _FD_ANYTHING or given.has(*_FD_CHOOSES) or not _FD_KINDS.issuperset(kinds)
    found = UNKNOWN_NONEMPTY if chooses else ALL_FOUND
    if rest:
        marked = any("{" in each for each in rest[:end])
        for path in _paths(starts, [found]):
            argv = interpreter.scripts.substitute_marker(rest[:end], "{}", path) if marked else (*rest[:end], path)
            interpreter.scripts.run_wrapped(command, argv, state, "")
        return UNKNOWN_NONEMPTY
    if chooses or not all(map(is_literal, starts)):
        return UNKNOWN_NONEMPTY
    shallow = given.has("-d", "--max-depth", "--exact-depth")
    return "\n".join(_paths(starts, [STAR if shallow else ALL_FOUND]))


HANDLERS: dict[str, ProgramHandler] = {
    **dict.fromkeys(("find", "gfind"), _find),
    **dict.fromkeys(("fd", "fdfind"), _fd),
}
