"""Payloads that agents send, from `payloads/`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

FIXTURES: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text()) for path in sorted((Path(__file__).parent / "payloads").glob("*.json"))
}
CASES = [
    pytest.param(fixture["agent"], case, id=f"{name}: {case['name']}")
    for name, fixture in FIXTURES.items()
    for case in fixture["cases"]
]


def payload_of(agent: str, name: str) -> dict[str, Any]:
    """Return the payload of the first case whose name begins with `name`."""
    return next(dict(case["payload"]) for case in FIXTURES[agent]["cases"] if case["name"].startswith(name))
