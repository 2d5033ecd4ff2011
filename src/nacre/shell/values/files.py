"""Files that the script itself has written: what each holds, or may hold if that depends on a condition. Pure.

Their contents before the script are unknown. Of several alternatives, each is followed and its writes are rolled back;
in the end, the writes of all are merged.
"""

from __future__ import annotations

from typing import TypeAlias

from nacre.shell.symbolic import UNKNOWN
from nacre.shell.values.merge import collect_by_name

Contents: TypeAlias = tuple[str, ...]
MAX_CONTENTS_PER_FILE = 8
"""Texts that one file may hold."""
_OPEN = "/dev/fd/"
"""Paths of file descriptors. These are not files: their contents do not depend on conditions."""


class Files(dict[str, str]):
    """Files with known contents, by path; of several possible contents, the latest."""

    def __init__(self) -> None:
        self.hooks: dict[str, str] = {}
        """The files that are git hooks."""
        self.settings: dict[str, str] = {}
        """Aliases and remotes that `git config` has set, by path and value."""
        self._others: dict[str, Contents] = {}
        """Other contents that a file may have; `UNKNOWN` stands for those before the script."""
        self._log: list[tuple[str, Contents]] = []
        """All writes, in order, with the contents before each."""

    def __setitem__(self, path: str, text: str) -> None:
        if not path.startswith(_OPEN):
            self._log.append((path, self.contents(path)))
            self._others.pop(path, None)
        super().__setitem__(path, text)
        if "/.git/hooks/" in path:
            self.hooks[path] = text
        elif path.startswith(("/dev/git-config/alias.", "/dev/git-config/remote.")):
            self.settings[path] = text

    def contents(self, path: str) -> Contents:
        """Return all contents that a file may have; empty if the script has not written it."""
        text = self.get(path)
        return () if text is None else (*self._others.get(path, ()), text)

    def put(self, path: str, texts: Contents) -> None:
        """Set a file to one of these contents; which one is not known."""
        known = dict.fromkeys(text for text in texts if text != UNKNOWN)
        *others, latest = known or (UNKNOWN,)
        self[path] = latest
        if known and UNKNOWN in texts:
            others.insert(0, UNKNOWN)
        if others:
            self._others[path] = tuple(
                others[-MAX_CONTENTS_PER_FILE:]
                if len(others) <= MAX_CONTENTS_PER_FILE
                else (UNKNOWN, *others[-MAX_CONTENTS_PER_FILE:])
            )

    def checkpoint(self) -> int:
        """Return a position for `rollback`: what is written from here on may not happen."""
        return len(self._log)

    def rollback(self, since: int) -> dict[str, Contents]:
        """Undo all writes since a checkpoint. Return the files that were written, with their contents."""
        found: dict[str, Contents] = {}
        while len(self._log) > since:
            path, before = self._log.pop()
            found.setdefault(path, self.contents(path))
            self._others.pop(path, None)
            if before:
                super().__setitem__(path, before[-1])
            else:
                del self[path]
            if len(before) > 1:
                self._others[path] = before[:-1]
        return found

    def merge(self, *alternatives: dict[str, Contents], stays: bool = True) -> None:
        """Apply the writes of one of these alternatives; with `stays`, perhaps of none."""
        for path, found in collect_by_name(alternatives, self._previous_contents):
            held = (*([self._previous_contents(path)] if stays else []), *found)
            self.put(path, tuple(text for texts in held for text in texts))

    def _previous_contents(self, path: str) -> Contents:
        return self.contents(path) or (UNKNOWN,)

    def mark_uncertain(self, since: int) -> None:
        """Note that the writes since a checkpoint may not have happened."""
        if len(self._log) > since:
            self.merge(self.rollback(since))
