"""PrimitiveContext: where commands run, where they may, and under which id. Looks at links, changes nothing."""

from __future__ import annotations

import os
from pathlib import Path

from nacre.frozen import field, frozen
from nacre.types import StrPath, ToolContext


@frozen
class PrimitiveContext:
    """One for each operation, or one for a conversation."""

    working_dir: Path
    """Given as text or path; relative to this process's directory."""
    allowed_paths: tuple[Path, ...] = ()
    """When given, a command may only start in one of these directories or below. Relative to `working_dir`."""
    operation_id: str = field(default_factory=lambda: os.urandom(8).hex())
    """In the metadata of every result."""
    base: ToolContext = ToolContext()
    """What else nacre can be told of a call: access, cancel, secrets, pass_env, …"""

    def __post_init__(self) -> None:
        given: tuple[StrPath, ...] = self.allowed_paths or self.base.allowed_paths
        if isinstance(given, str | os.PathLike):
            given = (given,)
        object.__setattr__(self, "working_dir", Path(os.path.abspath(self.working_dir)))
        object.__setattr__(self, "allowed_paths", tuple(self.resolve_path(path) for path in given))

    def resolve_path(self, path: StrPath) -> Path:
        """Absolute, without `..`, as seen from the working directory."""
        return Path(os.path.normpath(self.working_dir / path))

    def is_path_allowed(self, path: StrPath) -> bool:
        """Links are followed first, and in both of the ways there are to read `link/..`: back to where the link is, and
        to what holds the place it leads to."""
        if not self.allowed_paths:
            return True
        roots = [os.path.realpath(root) for root in self.allowed_paths]
        places = {os.path.realpath(self.resolve_path(path)), os.path.realpath(self.working_dir / path)}
        return all(any(os.path.commonpath([root, place]) == root for root in roots) for place in places)
