"""docs/migrating is correct: the Python of every page runs and prints what its comments say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import HANG_TIMEOUT_S

ROOT = Path(__file__).parents[2] / "docs" / "migrating"
PAGES = sorted(ROOT.glob("*.md"))
BLOCKS = [
    pytest.param(code, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
]


@pytest.mark.parametrize("code", BLOCKS)
def test_migration_page_python_prints_what_its_comments_say(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=HANG_TIMEOUT_S
    )
    said = re.findall(r"^ *print\(.*\)  # (.*)$", code, re.MULTILINE)
    lines = iter(done.stdout.splitlines())
    for comment in said:
        begins = comment.removesuffix("…")
        assert any(line == comment or (line.startswith(begins) and comment != begins) for line in lines), comment


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_migration_pages_link_to_existing_pages(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)]+)\)", text) if "://" not in target]
    assert [target for target in targets if not (ROOT / target).exists()] == []
