"""Operations in progress in a git directory: the programs or writes elsewhere that continuing them would cause.

| file | by |
|---|---|
| `rebase-merge/git-rebase-todo` | steps that run programs: `exec` |
| `rebase-merge/strategy`, `sequencer/opts` | a merge strategy: a program, with a slash one of the tree |
| `rebase-apply/apply-opt` | options of `git apply`, one of which writes a file anywhere |
| `remotes/*`, `branches/*` | a remote whose address is a program (`ext::`), where the user allows those |
"""

from __future__ import annotations

import os
import re

from nacre.protected_paths.git_config import MAX_BYTES, read_settings
from nacre.protected_paths.git_quarantine import read_file

STEPS_FILE = "git-rebase-todo"
TOO_LARGE = "more than is read"
_STEPS_MAX_BYTES = 16 * 1024 * 1024
_REMOTES_MAX = 1000
"""Files of remotes that are read; each further file counts as one that runs programs."""
_STRATEGIES = frozenset(("", "octopus", "ort", "ours", "recursive", "resolve", "subtree"))
"""Merge strategies that come with git."""
_RUNS = re.compile(r"[ \t]*(?:exec|x)[ \t]")
_APPLY_OPTIONS = re.compile(
    r"(?:'(?:-p\d+|-C\d+|--whitespace=[a-z-]+|--ignore-whitespace|--ignore-space-change|--reject|-3|--3way"
    r"|--recount|--inaccurate-eof|--(?:directory|include|exclude)=[^']*)'\s*)*"
)

Programs = dict[str, tuple[str, ...]]
"""Paths of files, each with what it makes git run."""


def find_programs(directory: str) -> Programs:
    """Return the programs that git would run from `directory`, which is in a git directory and has one of `NAMES`."""
    look = _CHECKS[os.path.basename(directory)]
    return {path: found for path, found in look(directory).items() if found}


def read_steps(path: str) -> list[str]:
    """Return the lines of a todo list; only `TOO_LARGE` if it is too large."""
    text = read_file(path, _STEPS_MAX_BYTES + 1) or b""
    return text.decode("utf-8", "surrogateescape").split("\n") if len(text) <= _STEPS_MAX_BYTES else [TOO_LARGE]


def _look_at_rebase(directory: str) -> Programs:
    return {
        f"{directory}/{STEPS_FILE}": _find_steps(f"{directory}/{STEPS_FILE}"),
        f"{directory}/strategy": _check_strategy(_read_text(f"{directory}/strategy")),
    }


def _look_at_apply(directory: str) -> Programs:
    options = _read_text(f"{directory}/apply-opt")
    is_known = options is not None and _APPLY_OPTIONS.fullmatch(options.strip())
    return {
        f"{directory}/strategy": _check_strategy(_read_text(f"{directory}/strategy")),
        f"{directory}/apply-opt": () if is_known else (f"options {_shorten(options)}",),
    }


def _look_at_sequencer(directory: str) -> Programs:
    path = f"{directory}/opts"
    text = _read_text(path)
    try:
        if text is None:
            raise ValueError(TOO_LARGE)
        settings = read_settings(text)
    except ValueError as error:
        return {path: (str(error),)}
    found = [_check_strategy(value) for name, value in settings if name == "options.strategy"]
    return {path: tuple(each for strategy in found for each in strategy)}


def _look_at_remotes(directory: str) -> Programs:
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return {}
    found: Programs = {}
    for number, name in enumerate(names):
        text = _read_text(f"{directory}/{name}") if number < _REMOTES_MAX else None
        if text is None or "ext::" in text.lower():
            found[f"{directory}/{name}"] = (f"a remote {_shorten(text)}",)
    return found


_CHECKS = {
    "rebase-merge": _look_at_rebase,
    "rebase-apply": _look_at_apply,
    "sequencer": _look_at_sequencer,
    "remotes": _look_at_remotes,
    "branches": _look_at_remotes,
}
NAMES = frozenset(_CHECKS)
"""Directories of a git directory that are checked."""


def _find_steps(path: str) -> tuple[str, ...]:
    return tuple(line for line in read_steps(path) if line == TOO_LARGE or _RUNS.match(line))


def _check_strategy(name: str | None) -> tuple[str, ...]:
    return () if name is not None and name.strip() in _STRATEGIES else (f"the strategy {_shorten(name)}",)


def _read_text(path: str) -> str | None:
    """Return the content of a file; empty if there is none, None if it is too large."""
    data = read_file(path, MAX_BYTES + 1) or b""
    return data.decode("utf-8", "surrogateescape") if len(data) <= MAX_BYTES else None


def _shorten(text: str | None) -> str:
    return TOO_LARGE if text is None else " ".join(text.split())[:80]
