"""The input of look-ups and the helpers that word their results."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nacre.base.lazy_regex import lazy_regex

_MAX_PATH_CHARS = 400
"""Maximum length of a quoted path, in characters."""
_PATH = lazy_regex(r"/?[^\s/\x00-\x1f`\"|;&<>]{1,60}(?:/[^\s/\x00-\x1f`\"|;&<>]{0,60}){0,30}")
TOTAL_CPU_S = 0.12
"""CPU seconds for all look-ups of one failure."""
PROVIDER_CPU_S = 0.03
"""CPU seconds for one look-up."""


class Complaint(NamedTuple):
    """A line that reports a failure."""

    line: str
    before: tuple[str, ...] = ()
    """The lines before it."""


class Failure:
    """A command that failed, and where it ran."""

    def __init__(
        self,
        *,
        command: str,
        cwd: str,
        text: str,
        env: Mapping[str, str] | None = None,
        stdin: bool = False,
        confined: bool = False,
        blind: bool = False,
        store: str | None = None,
    ) -> None:
        self.command = command
        self.cwd = cwd
        self.text = text
        """The end of its output."""
        self.env = {} if env is None else env
        self.stdin = stdin
        """True if it was given input."""
        self.confined = confined
        """True if it was sandboxed. What the sandbox denied is explained elsewhere."""
        self.paths_hidden = blind
        """True if some files are hidden from it: a hint must not reveal what exists."""
        self.store = store
        """Task directory; None: the default one."""
        self._scenes: list[tuple[str, str]] | None = None

    @property
    def directories(self) -> tuple[str, ...]:
        """Directories in which it, or a part of it, may have been when it complained; the last first."""
        return tuple(dict.fromkeys((*(place for place, _ in self._commands()), self.cwd)))

    def directories_of(self, word: str) -> tuple[str, ...]:
        """Return the directories of the commands that name `word`; of all commands if none does."""
        return tuple(dict.fromkeys(place for place, words in self._commands() if word in words)) or self.directories

    def _commands(self) -> list[tuple[str, str]]:
        """Return directory and words of each command, as far as they are known; the last first."""
        if self._scenes is None:
            from nacre.shell import read

            self._scenes = []
            try:
                script = read(self.command[:20_000], cwd=self.cwd, home=self.env.get("HOME", "/root"))
            except Exception:
                return self._scenes
            for command in reversed(script.commands[-50:]):
                if os.path.isabs(command.cwd) and os.path.isdir(command.cwd):
                    opened = [each.target for each in command.redirects]
                    self._scenes.append((command.cwd, "\0".join((*command.argv, *opened))))
        return self._scenes


class CpuBudget:
    """A limit on CPU time of the calling thread, which does not depend on how busy the machine is."""

    def __init__(self, seconds: float = PROVIDER_CPU_S) -> None:
        self._end = time.thread_time() + seconds

    @property
    def expired(self) -> bool:
        return time.thread_time() > self._end


def quote_text(text: str) -> str:
    """Quote text as data, on one line. Raise ValueError if it is long: a truncated path may contain a part of a secret,
    which masking would not recognise."""
    shown = repr(text)
    if len(shown) > _MAX_PATH_CHARS:
        raise ValueError("too long")
    return shown


def is_name(text: str) -> bool:
    """Return true if the text looks like a name or a path and is too short for sentences: hints repeat text of
    untrusted origin in nacre's name."""
    return _PATH.fullmatch(text) is not None


def names_in(directory: str, most: int = 5000) -> list[str]:
    """Return names in a directory, as far as they look like names; at most `most`."""
    found = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if is_name(entry.name):
                    found.append(entry.name)
                if len(found) >= most:
                    break
    except OSError:
        pass
    return found


def nearest(word: str, names: Iterator[str] | list[str], clock: CpuBudget | None = None) -> list[str]:
    """Return the names of which `word` is a likely typing error: one letter too many, too few or wrong, or two
    swapped."""
    clock = clock or CpuBudget()
    most = 0 if len(word) < 2 else 1 if len(word) < 6 else 2
    found: list[tuple[float, str]] = []
    lower, letters = word.lower(), set(word.lower())
    for name in names:
        if clock.expired:
            break
        if name == word or abs(len(name) - len(word)) > most or len(letters - set(name.lower())) > most:
            continue
        if name.lower() == lower:
            found.append((0, name))
            continue
        far = distance(lower, name.lower(), most)
        swapped = sorted(lower) == sorted(name.lower())
        if far <= most and (len(word) > 3 or swapped):
            found.append((far + (0.25 if name[:1] != word[:1] else 0) - (0.5 if swapped else 0), name))
    found.sort()
    return [name for far, name in found if far == found[0][0]]


def distance(one: str, other: str, most: int) -> int:
    """Return the number of letters added, lost, changed or swapped with a neighbour; a number above `most` if it is
    more."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        last, before, row = before, row, [i]
        for j, against in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != against))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == against:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]
