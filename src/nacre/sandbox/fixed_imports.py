"""Keeps what a command makes in a workspace from being imported in place of something else.

A program that lies in the workspace (`python agent.py`, `python -m nacre`) has it on `sys.path`, mostly first: a file
`json.py` that a command makes there would be what this process imports later. So the standard library, and whatever
the project has no module of the same name for, is looked for in all other places first. What the project does have is
found as before: it can be changed like any other file of the workspace.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from nacre.sandbox.workspace import is_below


class _FixedFinder:
    """One for the whole process, before the one that knows `sys.path`."""

    def __init__(self) -> None:
        self.open: dict[str, None] = {}
        """Entries of `sys.path` in which commands can write, as they stand there."""
        self.project: set[str] = set()
        """Modules that were there before the first such command."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is not None or (name in self.project and name not in sys.stdlib_module_names):
            return None  # part of a package, which is found where that is; or the project's own
        spec = PathFinder.find_spec(name, [entry for entry in sys.path if entry not in self.open], target)
        return None if spec is None or spec.loader is None else spec

    def add(self, entry: str) -> None:
        if entry not in self.open:
            with contextlib.suppress(OSError):
                self.project |= {name.partition(".")[0] for name in os.listdir(entry or ".")}
            self.open[entry] = None


_finder = _FixedFinder()


def fix_imports(roots: Iterable[str], protected: Iterable[str]) -> None:
    """Before a command can write in `roots`, but for `protected`. Real paths."""
    entries = _open_entries(tuple(sys.path), tuple(roots), tuple(protected))
    for entry in entries:
        _finder.add(entry)
    if entries and _finder not in sys.meta_path:
        places = [index for index, each in enumerate(sys.meta_path) if each is PathFinder]
        sys.meta_path.insert(places[0] if places else 0, _finder)


@lru_cache(maxsize=16)
def _open_entries(path: tuple[str, ...], roots: tuple[str, ...], protected: tuple[str, ...]) -> tuple[str, ...]:
    """An empty one is the current directory, wherever that is when something is imported."""
    real = {entry: os.path.realpath(entry) for entry in path if entry}
    return tuple(
        entry
        for entry in path
        if not entry
        or (
            any(is_below(real[entry], root) for root in roots)
            and not any(is_below(real[entry], each) for each in protected)
        )
    )
