"""Installation by our own scripts: every package has a known hash, and no package runs its own scripts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted([*ROOT.glob("scripts/*.sh"), ROOT / "Makefile", ROOT / ".ci" / "run"])
LOCKS = sorted(ROOT.glob("pins/*/package-lock.json"))
OWN = ("--no-deps --no-build-isolation -e .", "--no-index --no-deps --force-reinstall ")
"""Installations of the project itself, with a pinned build backend."""


def commands(pattern: str) -> list[str]:
    """Return the script lines that match, joined with their continuation lines, without comments and messages."""
    found = []
    for script in SCRIPTS:
        text = re.sub(r"\\\n\s*", "", script.read_text())
        found += [
            line.strip()
            for line in text.splitlines()
            if re.search(pattern, line) and not line.lstrip().startswith(("#", "echo", "@echo"))
        ]
    return found


def test_python_packages_are_installed_with_required_hashes() -> None:
    installs = [line for line in commands(r"pip\b.* install |^\s*(?:by_uv \|\| )?pip --") if "pip() {" not in line]
    assert len(installs) >= 5
    assert [line for line in installs if "--require-hashes" not in line and not any(own in line for own in OWN)] == []


def test_npm_packages_run_no_install_scripts() -> None:
    installs = commands(r"\bnpm (?:i|install|ci|exec|rebuild)\b|\bnpx\b")
    assert len(installs) == 2
    assert [line for line in installs if "npm ci " not in line or "--ignore-scripts" not in line] == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.parent.name)
def test_npm_lock_files_have_hashes_and_no_urls(lock: Path) -> None:
    data = json.loads(lock.read_text())
    wanted = json.loads(lock.with_name("package.json").read_text())["dependencies"]
    assert all(re.fullmatch(r"\d[\w.-]*", version) for version in wanted.values())
    assert data["packages"].pop("")["dependencies"] == wanted
    assert [name for name, package in data["packages"].items() if not package.get("integrity")] == []
    assert [name for name, package in data["packages"].items() if "resolved" in package] == []


def test_both_npm_lock_files_exist() -> None:
    assert [lock.parent.name for lock in LOCKS] == ["agents", "mcp-tools"]
