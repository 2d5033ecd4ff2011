"""Runs an example, or the code of docs/frameworks.md, as a reader would."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.waiting import HANG_TIMEOUT_S

ROOT = Path(__file__).parents[2]


def check_example(name: str, directory: Path) -> None:
    """Run the example; check that each `print` prints its comment."""
    path = ROOT / "examples" / name
    words = [sys.executable, str(path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=HANG_TIMEOUT_S, cwd=directory, check=False)
    assert done.returncode == 0, done.stderr
    shown = re.findall(r"^ *print\(.*\)  # (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert shown
    assert done.stdout.splitlines() == shown


def run_docs_example(section: str, **given: Any) -> dict[str, Any]:
    """Run the first Python block of a section (empty: before the first section); return its names."""
    page = (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8")
    text = page.partition(f"\n## {section}\n")[2] if section else page.partition("\n## ")[0]
    block = re.search(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert block is not None, section
    names = dict(given)
    exec(compile(block[1], f"docs/frameworks.md, {section}", "exec"), names)
    return names
