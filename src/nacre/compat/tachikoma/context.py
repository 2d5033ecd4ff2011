"""PrimitiveContext: working directory, allowed paths and operation id. It resolves symbolic links and changes no
file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from nacre.types import StrPath, ToolContext

NOTHING_MORE = ToolContext()


class PrimitiveContext:
    """Context of one operation, or of a conversation."""

    __slots__ = ("allowed_paths", "base", "operation_id", "working_dir")

    def __init__(
        self,
        working_dir: StrPath,
        *,
        allowed_paths: Iterable[StrPath] = (),
        operation_id: str = "",
        base: ToolContext = NOTHING_MORE,
    ) -> None:
        """Create a context. `base` has the other options of a call: access, cancel, secrets, pass_env, …"""
        self.working_dir = Path(os.path.abspath(working_dir))
        given = (allowed_paths,) if isinstance(allowed_paths, str | os.PathLike) else tuple(allowed_paths)
        self.allowed_paths = tuple(self.resolve_path(path) for path in given or base.allowed_paths)
        """If given, a command may only start in one of these directories or below. Relative to `working_dir`."""
        self.operation_id = operation_id or os.urandom(8).hex()
        """Recorded in the metadata of every result."""
        self.base = base

    def __repr__(self) -> str:
        return f"<PrimitiveContext {self.operation_id} in {self.working_dir}>"

    def resolve_path(self, path: StrPath) -> Path:
        """Return the absolute path without `..`, relative to the working directory."""
        return Path(os.path.normpath(self.working_dir / path))

    def is_path_allowed(self, path: StrPath) -> bool:
        """Return true if a path is allowed under both readings of `link/..`: the directory of the link, and the parent
        of its target. Symbolic links are resolved first."""
        return self.find_outside(path) is None

    def find_outside(self, path: StrPath) -> Path | None:
        """Return a directory that the path may refer to and that is not allowed; None if all are allowed."""
        if not self.allowed_paths:
            return None
        meant = self.resolve_path(path)
        try:
            roots = [os.path.realpath(root) for root in self.allowed_paths]
            back, through = os.path.realpath(meant), os.path.realpath(self.working_dir / path)
        except ValueError:  # a NUL byte: not a path
            return meant
        for place, name in ((back, meant), (through, Path(through))):
            if not any(os.path.commonpath([root, place]) == root for root in roots):
                return name
        return None
