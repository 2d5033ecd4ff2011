"""docs/migrating/tachikoma.md says what is true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "migrating" / "tachikoma.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("code", BLOCKS, ids=["run", "validate"])
def test_its_python_prints_what_its_comments_say(code: str) -> None:
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True, timeout=60)
    said = re.findall(r"^(?:print\(.*\)  )?# (.*)$", code, re.MULTILINE)
    assert said
    assert done.stdout.splitlines() == said


def test_every_page_it_links_to_exists() -> None:
    pages = [target for target in re.findall(r"\]\(([^)]+)\)", PAGE.read_text(encoding="utf-8")) if "://" not in target]
    assert pages
    assert [page for page in pages if not (PAGE.parent / page).exists()] == []
