"""Files that the script itself has written: what each holds, or may hold if that hangs on a condition. Pure.

What was there before is not known. Where a script may go one way or another, each way is followed, its writes are taken
back, and in the end all of them are put together.
"""

from __future__ import annotations

from typing import TypeAlias

from nacre.shell.symbolic import UNKNOWN
from nacre.shell.values.merge import collect_by_name

Contents: TypeAlias = tuple[str, ...]
MAX_CONTENTS_PER_FILE = 8
"""Texts that one file may hold."""
_OPEN = "/dev/fd/"
"""Descriptors are nobody's files: what they hold hangs on no condition."""


class Files(dict[str, str]):
    """Files of known content, by their paths: of several contents, the latest."""

    def __init__(self) -> None:
        self.hooks: dict[str, str] = {}
        """Those among them that git runs."""
        self.settings: dict[str, str] = {}
        """What git was told."""
        self._others: dict[str, Contents] = {}
        """What a file may hold instead; `UNKNOWN`: what it held before."""
        self._log: list[tuple[str, Contents]] = []
        """Whatever was written, in order, with what there was before."""

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
        """All that it may hold; none, if nobody has written it."""
        text = self.get(path)
        return () if text is None else (*self._others.get(path, ()), text)

    def put(self, path: str, texts: Contents) -> None:
        """It holds one of these."""
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
        """Here begins what may not come to pass."""
        return len(self._log)

    def rollback(self, since: int) -> dict[str, Contents]:
        """What was written since then, and what it holds; from now on, it was not."""
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
        """It has gone one of these ways; or, with `stays`, none of them."""
        for path, found in collect_by_name(alternatives, self._previous_contents):
            held = (*([self._previous_contents(path)] if stays else []), *found)
            self.put(path, tuple(text for texts in held for text in texts))

    def _previous_contents(self, path: str) -> Contents:
        return self.contents(path) or (UNKNOWN,)

    def mark_uncertain(self, since: int) -> None:
        """What was written since then may not have been."""
        if len(self._log) > since:
            self.merge(self.rollback(since))
