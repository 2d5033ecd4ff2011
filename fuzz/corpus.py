"""The commands of the corpus, read once in each process."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

_PLACE = Path(__file__).parents[1] / "tests" / "corpus" / "commands.jsonl"


@cache
def commands() -> list[str]:
    return [json.loads(line)["command"] for line in _PLACE.read_text().splitlines()]
