"""A project for scripts/lint, with a glossary of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

PROJECT = Path(__file__).parents[2]

GLOSSARY = """\
[modules]
told -> exit_state

[classes]
Asked -> ParsedCall

[functions]
let_go -> detach

[constants]
NOBODY -> NO_APPROVER

[parameters]
heard -> on_verdict

[keeper/care | keeper/server/supervisor]
module -> supervisor
Care -> Supervisor
Care.review -> check_run
Care.killed -> recently_killed
look -> read_process
FREE -> IDLE
_retired -> _stopping

[words that are no verb]
told beside at

[verbs that end in -ed]
feed

[vague words]
PATIENCE LONGEST PAUSE

[vague first and last words]
PATIENCE LONGEST
"""


class Lint:
    """A project in a temporary directory, checked by the real script."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data = root / "data"
        self.write("data/glossary.txt", GLOSSARY)
        self.write("data/exceptions.txt", "")
        self.write("data/baseline.txt", "")
        self.write("src/nacre/keeper/care.py", "")
        self.write_baseline("name src module care = 1")

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")

    def move(self, old: str, new: str) -> None:
        target = self.root / new
        target.parent.mkdir(parents=True, exist_ok=True)
        (self.root / old).rename(target)

    def write_baseline(self, *lines: str) -> None:
        self.write("data/baseline.txt", "".join(f"{line}\n" for line in lines))

    def read_baseline(self) -> list[str]:
        lines = (self.data / "baseline.txt").read_text(encoding="utf-8").splitlines()
        return [line for line in lines if not line.startswith("#")]

    def run(self, *options: str) -> list[str]:
        """Run the script; return its complaints, an empty list on success."""
        command = [sys.executable, "-m", "scripts.lint", "--root", str(self.root), "--data", str(self.data), *options]
        done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
        complaints = done.stderr.splitlines()
        assert done.returncode == (1 if complaints else 0), done
        return complaints
