"""Runs an example as its reader would."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def does_what_it_says(name: str, directory: Path) -> None:
    """It prints what its comments say, a line each."""
    path = ROOT / "examples" / name
    words = [sys.executable, str(path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, cwd=directory, check=False)
    assert done.returncode == 0, done.stderr
    shown = re.findall(r"^ *print\(.*\)  # (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert shown
    assert done.stdout.splitlines() == shown
