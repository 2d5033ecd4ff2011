"""The state of everything that is compared before and after one run.

Overlapping runs share the state from before the first of them. Otherwise a later run would record files that another
has just planted as the user's own, and put them back after the other run had removed them. The shared state is dropped
when the last of these runs has ended. A run that continues as a task counts until the task has ended, which is checked
when the next run starts.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakSet, WeakValueDictionary

from nacre.protected_paths import git_directories
from nacre.protected_paths.git_config import MAX_BYTES, settings_that_run_programs
from nacre.protected_paths.mounted_paths import MountedPaths
from nacre.protected_paths.nested_repositories import Known, find_nested_repositories, keep_common, quarantine_new
from nacre.protected_paths.open_path import parent_of
from nacre.protected_paths.packing import Scope, pack, unpack
from nacre.protected_paths.snapshot import PathSnapshot, RootSnapshot

if TYPE_CHECKING:
    from nacre.types import ProtectedPaths

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DESTINATION = re.compile(
    r"^\ufeff?[ \t\r]*(?:\[[^\n]*\][ \t]*)?((?:worktree|url|pushurl)\b[^\n]*|"
    r"(?:remote|pushremote|pushdefault)[ \t]*=(?![ \t]*[\w.-]+[ \t]*$)[^\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
"""Lines of a git configuration that set where git checks out, fetches from and pushes to. The plain name of a remote
does not count: `git switch` writes it for each branch."""

_lock = threading.RLock()
_snapshots: WeakValueDictionary[str, RootSnapshot] = WeakValueDictionary()
"""Snapshots by path. An entry vanishes when no run holds it any more."""
_running: WeakSet[Protection] = WeakSet()


_of_tasks: dict[Protection, Callable[[], bool]] = {}
"""Protections of tasks, each with a function that returns whether the task has ended."""


class Protection:
    """State of protected paths before a run, and the means to restore them."""

    unenforced_rules: frozenset[str] = frozenset()
    """Rules that the kernel did not enforce until the end of the run; known after `restore`."""

    def __init__(self, paths: ProtectedPaths) -> None:
        """Record the current state, or the state from before the runs that have not ended. Raises OSError if there is
        no file descriptor to read with."""
        self._set_scope(Scope(paths.writable_roots, paths.repositories, paths.own_code))
        _release_ended()
        with _lock:
            self._compared_snapshot = PathSnapshot(paths.compared, paths.writable_roots, _snapshots)
            compared = [path for path in paths.mounted if path not in paths.own_code]
            self._mounted_snapshot = PathSnapshot(compared, paths.writable_roots, _snapshots)
            self._mounted, self._covered = MountedPaths(paths.mounted), MountedPaths(paths.covered)
            self._git = {each: self._inspect_git_directory(each) for each in paths.repositories}
            self._nested = self._find_nested_repositories() if paths.repositories else {}
            _running.add(self)

    def _set_scope(self, scope: Scope) -> None:
        self._scope = scope
        self._repositories = frozenset(scope.repositories)
        self._configurations = frozenset(
            f"{each}/{name}" for each in scope.repositories for name in ("config", "config.worktree")
        )

    def save(self) -> bytes:
        """Encode the state, so that another process can `load` it and compare."""
        with _lock:
            return pack(
                (
                    self._scope,
                    {path: (each.node, each.obstacle) for path, each in self._compared_snapshot.snapshots.items()},
                    {path: (each.node, each.obstacle) for path, each in self._mounted_snapshot.snapshots.items()},
                    self._mounted.marks,
                    self._covered.marks,
                    self._git,
                    self._nested,
                )
            )

    @classmethod
    def load(cls, data: bytes) -> Protection:
        """Decode the result of `save`. Raises ValueError for anything else."""
        protection = cls.__new__(cls)
        try:
            scope, watched, held, mounted, covered, git, nested = unpack(data)
            protection._set_scope(Scope(*scope))
            protection._compared_snapshot, protection._mounted_snapshot = (
                PathSnapshot.from_roots({path: RootSnapshot(*each) for path, each in snapshots.items()}, scope.roots)
                for snapshots in (watched, held)
            )
        except (AttributeError, TypeError) as error:
            raise ValueError("not a saved protection") from error
        protection._mounted, protection._covered = MountedPaths.from_marks(mounted), MountedPaths.from_marks(covered)
        protection._git, protection._nested = git, nested
        return protection

    @property
    def is_held(self) -> bool:
        """True while it is held for a task."""
        return self in _of_tasks

    def hold(self, has_ended: Callable[[], bool]) -> None:
        """Let later runs share this state until a task has ended. `has_ended` is called only when the next run
        starts."""
        with _lock:
            _of_tasks[self] = has_ended

    def restore(self, *, becomes_task: bool = False) -> list[str]:
        """Undo every change that is not allowed and return a sentence for each. Release the state unless the run
        becomes a task (`becomes_task`)."""
        with _lock:
            said = [*self._compared_snapshot.restore(self._is_harmless_change), *self._settle_mounted()]
            for directory, before in self._git.items():
                said += git_directories.undo(directory, before, self._repositories)
            if self._scope.repositories:
                said += quarantine_new(self._scope.roots, self._scope.repositories, self._nested)
            if not becomes_task:
                self.release()
        return said

    def release(self) -> None:
        """Drop the state after the run has ended, or was never started: later runs no longer share it."""
        _running.discard(self)
        _of_tasks.pop(self, None)
        self._compared_snapshot = self._mounted_snapshot = PathSnapshot((), ())
        self._git = {}

    def _settle_mounted(self) -> list[str]:
        said: list[str] = []
        unheld: set[str] = set()
        for path in self._mounted.find_replaced():
            unheld |= {"protected", "protected-existing"}
            said.append(f"{path} was replaced from outside while the command ran, and not protected from then on.")
            if not self._is_harmless(path, self._mounted_snapshot):
                said += [undone] if (undone := self._mounted_snapshot.restore_one(path)) else []
        for path in self._mounted.find_changed():
            if path in self._scope.own_code:
                continue  # nacre itself writes there
            said.append(
                f"{path} was changed from outside while the command ran (the command could not change it), and was "
                "not restored."
            )
        for path in self._covered.find_replaced():
            unheld.add("hidden")
            said.append(f"{path} was replaced from outside while the command ran, and not hidden from then on.")
        self.unenforced_rules = frozenset(unheld)
        return said

    def _is_harmless_change(self, path: str) -> bool:
        return self._is_harmless(path, self._compared_snapshot)

    def _is_harmless(self, path: str, snapshot: PathSnapshot) -> bool:
        """Return whether a change may stay: that of a git configuration which runs no additional programs and leads git
        nowhere else. It does not matter who made it: each `git config` of the user replaces the file."""
        if path not in self._configurations or (before := snapshot.file(path)) is None:
            return False
        now = _read_unlinked(path, mode=before[0])
        if now is None or len(now) > MAX_BYTES:
            return False
        was, is_now = (text.decode("utf-8", "surrogateescape") for text in (before[1], now))
        return settings_that_run_programs(is_now) <= settings_that_run_programs(was) and (
            set(_DESTINATION.findall(is_now)) <= set(_DESTINATION.findall(was))
        )

    def _inspect_git_directory(self, directory: str) -> git_directories.GitState:
        for other in _running:
            if directory in other._git:
                return other._git[directory]
        return git_directories.inspect_git_directory(directory, self._repositories)

    def _find_nested_repositories(self) -> Known:
        """Return nested repositories without the parts that another run may have created: they may not be the
        user's."""
        found = find_nested_repositories(self._scope.roots, self._scope.repositories)
        for other in _running:
            if not set(other._scope.roots).isdisjoint(self._scope.roots):
                found = keep_common(found, other._nested)
        return found


def _read_unlinked(path: str, mode: int) -> bytes | None:
    """Return the content of a file; None if its mode differs, it has another name, or a link is in its path."""
    try:
        with parent_of(path) as (parent, name), open(os.open(name, _FILE, dir_fd=parent), "rb") as file:
            status = os.fstat(file.fileno())
            return file.read(MAX_BYTES + 1) if status.st_mode == mode and status.st_nlink == 1 else None
    except OSError:
        return None


def _release_ended() -> None:
    """Release the protections of tasks that have ended."""
    for protection, has_ended in list(_of_tasks.items()):
        if has_ended():
            with _lock:
                protection.release()


def _reset_after_fork() -> None:
    """After a fork, start empty: the runs belong to the parent."""
    global _lock
    _lock = threading.RLock()
    _of_tasks.clear()
    _snapshots.clear()
    _running.clear()


os.register_at_fork(after_in_child=_reset_after_fork)
