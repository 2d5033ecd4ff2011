"""A home directory with a project in it, and no settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nacre.config import load
from nacre.config.config import Config


class Place:
    """A home directory with a project in it."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.home = root / "home"
        self.project = self.home / "work" / "project"
        self.user = self.home / ".config" / "nacre" / "config.toml"
        (self.project / ".git").mkdir(parents=True)
        for name in [name for name in os.environ if name.startswith("NACRE_") and name != "NACRE_PORTABLE"]:
            patch.delenv(name)
        patch.delenv("CLAUDE_CONFIG_DIR", raising=False)
        patch.setenv("HOME", str(self.home))
        patch.setenv("XDG_CONFIG_HOME", str(self.home / ".config"))
        self.env: dict[str, str] = {}

    def write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def users(self, text: str) -> Path:
        return self.write(self.user, text)

    def projects(self, text: str) -> Path:
        return self.write(self.project / "pyproject.toml", "[project]\nname = 'x'\n\n" + text)

    def load(self, arguments: Mapping[str, Any] | None = None, *, lines: bool = False, below: str = "") -> Config:
        return load(self.project / below, env=self.env, arguments=arguments, lines=lines)
