"""Everything that is looked at before and after one run, in one value.

Runs that overlap share what was there before the first of them: a later one would take what another has just planted
for the user's own, and put it back when that one has removed it. It is forgotten when the last of them has ended.
"""

from __future__ import annotations

import os
import threading
from weakref import WeakSet, WeakValueDictionary

from nacre.guard import git_directories
from nacre.guard.git_config import MAX_BYTES, settings_that_run_programs
from nacre.guard.mounted_paths import MountedPaths
from nacre.guard.nested_repositories import Known, keep_common, look_for, quarantine_new
from nacre.guard.nodes import Guard, Snapshot
from nacre.guard.quarantine import read_file
from nacre.types import Plan

_lock = threading.RLock()
_snapshots: WeakValueDictionary[str, Snapshot] = WeakValueDictionary()
"""By path. One that no run holds any more is gone."""
_running: WeakSet[Protection] = WeakSet()


class Protection:
    unheld: frozenset[str] = frozenset()
    """Rules that the kernel has not enforced to the end; known after `restore`."""

    def __init__(self, plan: Plan) -> None:
        """Looks at what is there now, or was before the runs that have not ended. OSError: there was no descriptor to
        look with."""
        self._plan = plan
        self._repositories = frozenset(plan.repositories)
        self._configurations = frozenset(
            f"{each}/{name}" for each in plan.repositories for name in ("config", "config.worktree")
        )
        with _lock:
            self._guard = Guard(plan.watched, plan.roots, _snapshots)
            compared = [path for path in plan.mounted if path not in plan.own_code]
            self._held = Guard(compared, plan.roots, _snapshots)
            self._mounted, self._covered = MountedPaths(plan.mounted), MountedPaths(plan.covered)
            self._git = {each: self._look_at(each) for each in plan.repositories}
            self._nested = self._look_for_nested() if plan.repositories else {}
            _running.add(self)

    def restore(self) -> list[str]:
        """Undo what may not stay; a sentence each. It holds nothing afterwards."""
        with _lock:
            said = [*self._guard.restore(), *self._settle_mounted()]
            for directory, before in self._git.items():
                said += git_directories.undo(directory, before, self._repositories)
            if self._plan.repositories:
                said += quarantine_new(self._plan.roots, self._plan.repositories, self._nested)
            self.release()
        return said

    def release(self) -> None:
        """The run has ended, or never began: later ones need not share its view."""
        _running.discard(self)
        self._guard = self._held = Guard((), ())
        self._git = {}

    def _settle_mounted(self) -> list[str]:
        said: list[str] = []
        unheld: set[str] = set()
        for path in self._mounted.replaced():
            unheld |= {"protected", "protected-existing"}
            said.append(f"{path} was replaced from outside while the command ran, and not protected from then on.")
            if not self._is_harmless(path):
                said += [undone] if (undone := self._held.restore_one(path)) else []
        for path in self._mounted.changed():
            if path in self._plan.own_code:
                continue  # nacre writes there itself
            said.append(f"{path} was changed from outside while the command ran, which could not; it stays so.")
        for path in self._covered.replaced():
            unheld.add("hidden")
            said.append(f"{path} was replaced from outside while the command ran, and not hidden from then on.")
        self.unheld = frozenset(unheld)
        return said

    def _is_harmless(self, path: str) -> bool:
        """A configuration of git that runs no more programs than before stays, whoever has changed it: git replaces the
        file at each `git config` of the user."""
        if path not in self._configurations:
            return False
        before, now = self._held.content(path), read_file(path, MAX_BYTES + 1)
        if before is None or now is None or len(now) > MAX_BYTES:
            return False
        was, runs = (settings_that_run_programs(text.decode("utf-8", "surrogateescape")) for text in (before, now))
        return runs <= was

    def _look_at(self, directory: str) -> git_directories.Planted:
        for other in _running:
            if directory in other._git:
                return other._git[directory]
        return git_directories.look_at(directory, self._repositories)

    def _look_for_nested(self) -> Known:
        """A path that another run may have made since is not known to be the user's."""
        found = look_for(self._plan.roots, self._plan.repositories)
        for other in _running:
            if not set(other._plan.roots).isdisjoint(self._plan.roots):
                found = keep_common(found, other._nested)
        return found


def _start_afresh() -> None:
    """After a fork: the runs are the parent's."""
    global _lock
    _lock = threading.RLock()
    _snapshots.clear()
    _running.clear()


os.register_at_fork(after_in_child=_start_afresh)
