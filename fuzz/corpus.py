"""The commands of the corpus, read once per process."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

_PLACE = Path(__file__).parents[1] / "tests" / "corpus" / "commands.jsonl"
PROJECT, HOME = "/home/dev/project", "/home/dev"
"""Default working directory and home directory of the commands."""


@cache
def _entries() -> list[dict[str, Any]]:
    return [json.loads(line) for line in _PLACE.read_text().splitlines()]


@cache
def commands() -> list[str]:
    return [entry["command"] for entry in _entries()]


@cache
def harmless() -> dict[str, bool]:
    """Return the commands that run in the default project, and whether each is to be allowed."""
    return {entry["command"]: entry["want"] == "allow" for entry in _entries() if "cwd" not in entry}
