"""docs/migrating/tunacode.md says what is true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "migrating" / "tunacode.md").read_text(encoding="utf-8")
BLOCKS = [dedent(block) for block in re.findall(r"^ *```python\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)]


@pytest.mark.req("T-01", "T-12")
@pytest.mark.parametrize("code", BLOCKS, ids=["replace", "data"])
def test_its_python_prints_what_its_comments_say(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    said = re.findall(r"^ *print\(.*\)  # (.*)$", code, re.MULTILINE)
    lines = [line for line in done.stdout.splitlines() if not line.startswith("Command: ")]
    assert len(said) == len(lines)
    for line, comment in zip(lines, said, strict=True):
        assert line.startswith(comment.removesuffix("…"))
        assert line == comment or comment.endswith("…")
