"""Snapshots of nacre's interfaces, as JSON files in `snapshots/`. `make snapshots` regenerates them."""

from __future__ import annotations

import difflib
import json
import os
from pathlib import Path
from typing import Any

import pytest

DIRECTORY = Path(__file__).parent / "snapshots"
UPDATE_VARIABLE = "UPDATE_SNAPSHOTS"
"""Set by `make snapshots`. Not `NACRE_…`: nacre would look such a name up among its settings."""


def check_snapshot(name: str, found: Any) -> None:
    """Fail with a diff if `found` differs from `snapshots/NAME.json`; in update mode, write the file."""
    path = DIRECTORY / f"{name}.json"
    text = json.dumps(found, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    if os.environ.get(UPDATE_VARIABLE):
        path.write_text(text, encoding="utf-8")
        return
    expected = path.read_text(encoding="utf-8") if path.exists() else ""
    if text != expected:
        pytest.fail(describe_difference(path.name, expected, text), pytrace=False)


def describe_difference(name: str, expected: str, found: str) -> str:
    lines = difflib.unified_diff(
        expected.splitlines(), found.splitlines(), f"snapshots/{name}", "found now", lineterm="", n=4
    )
    hint = "Other programs see this. If the change is meant: `make snapshots`, and a line in CHANGELOG.md."
    return "\n".join([f"The interface has changed: {name}", *lines, "", hint])
