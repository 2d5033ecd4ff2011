"""Keeps files that a command creates in a workspace from shadowing this process's imports.

A program in the workspace (`python agent.py`, `python -m nacre`) has the workspace on `sys.path`, mostly first: a
`json.py` that a command creates there would be imported by this process later. So the standard library, and every
module that the project does not have, is searched on the rest of `sys.path` first. Modules that the project has are
found as before: commands may change them like any other file of the workspace.
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
    """A meta path finder, one per process, placed before `PathFinder`."""

    def __init__(self) -> None:
        self.open: dict[str, None] = {}
        """Entries of `sys.path` in which commands can write, spelled as they are there; a dict used as an ordered
        set."""
        self.project: set[str] = set()
        """Top-level names that existed in these entries before the first command that could write there."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is not None or (name in self.project and name not in sys.stdlib_module_names):
            return None  # a submodule, found through its package; or the project's own module
        spec = PathFinder.find_spec(name, [entry for entry in sys.path if entry not in self.open], target)
        return None if spec is None or spec.loader is None else spec

    def add(self, entry: str) -> None:
        if entry not in self.open:
            with contextlib.suppress(OSError):
                self.project |= {name.partition(".")[0] for name in os.listdir(entry or ".")}
            self.open[entry] = None


_finder = _FixedFinder()


def fix_imports(roots: Iterable[str], protected: Iterable[str]) -> None:
    """Install or extend the finder. Call before a command can write in `roots`, except `protected`. All real paths."""
    entries = _open_entries(tuple(sys.path), tuple(roots), tuple(protected))
    for entry in entries:
        _finder.add(entry)
    if entries and _finder not in sys.meta_path:
        places = [index for index, each in enumerate(sys.meta_path) if each is PathFinder]
        sys.meta_path.insert(places[0] if places else 0, _finder)


@lru_cache(maxsize=16)
def _open_entries(path: tuple[str, ...], roots: tuple[str, ...], protected: tuple[str, ...]) -> tuple[str, ...]:
    """Return the entries of `path` that are writable: below a root and not protected. An empty entry always is: it
    means the working directory at import time."""
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
