"""docs/checker.md is correct: its code runs and its links exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import HANG_TIMEOUT_S

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "checker.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("code", BLOCKS)
def test_checker_page_python_prints_what_its_comments_say(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=HANG_TIMEOUT_S
    )
    said = re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)
    lines = done.stdout.splitlines()
    assert len(said) == len(lines)
    for line, comment in zip(lines, said, strict=True):
        assert line.startswith(comment.removesuffix("…"))
        assert line == comment or comment.endswith("…")


def test_checker_page_links_to_existing_pages() -> None:
    pages = [target.partition("#")[0] for target in re.findall(r"\]\(([^)]+)\)", PAGE) if "://" not in target]
    assert pages
    assert [page for page in pages if not (ROOT / "docs" / page).exists()] == []
