"""docs/testing.md and docs/observability.md are correct: their code runs and their links exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import HANG_TIMEOUT_S

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {name: (DOCS / name).read_text(encoding="utf-8") for name in ("testing.md", "observability.md")}
BLOCKS = [block for page in PAGES.values() for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL)]


@pytest.mark.parametrize("code", BLOCKS)
def test_testing_and_observability_python_prints_its_comments(code: str, tmp_path: Path) -> None:
    words = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=HANG_TIMEOUT_S, cwd=tmp_path)
    assert done.stdout.splitlines() == re.findall(r"^(?:print|asyncio\.run)\(.*\)  # (.*)$", code, re.MULTILINE)


@pytest.mark.parametrize("name", PAGES)
def test_testing_and_observability_pages_link_to_existing_pages(name: str) -> None:
    targets = re.findall(r"\]\(([^)]+)\)", PAGES[name])
    pages = [target.partition("#")[0] for target in targets if "://" not in target]
    assert [page for page in pages if not (DOCS / page).exists()] == []
