"""docs/migrating/mycode.md is correct: its code runs and its links exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import HANG_TIMEOUT_S

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "migrating" / "mycode.md"
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL), ids=["profile", "executor"])
def test_python_on_the_mycode_page_prints_what_its_comments_say(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=HANG_TIMEOUT_S
    )
    said = re.findall(r"^ *(?:print\(.*\)  )?# {1,20}(\S.*)$", code, re.MULTILINE)
    assert [line for line in done.stdout.splitlines() if line] == said


def test_every_link_of_the_mycode_page_exists() -> None:
    pages = [target.partition("#")[0] for target in re.findall(r"\]\(([^)]+)\)", TEXT)]
    assert pages
    assert [page for page in pages if not (PAGE.parent / page).exists()] == []
