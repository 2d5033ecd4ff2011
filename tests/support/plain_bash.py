"""Plain bash as a reference: its output, to compare with results of nacre."""

from __future__ import annotations

import subprocess
from pathlib import Path

from nacre import Result
from nacre.result import Captured


def captured_text(text: str | bytes = b"") -> Captured:
    """Return a captured stream with exactly this text."""
    data = text.encode() if isinstance(text, str) else text
    return Captured(head=data, total_bytes=len(data))


def run_in_plain_bash(text: str | bytes, cwd: Path | None = None) -> tuple[int | None, bytes, bytes]:
    """Run the command in plain bash; return exit code, stdout and stderr."""
    words = ["bash", "-c", "--", text]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=cwd)
    return done.returncode, done.stdout, done.stderr


def parts(result: Result) -> tuple[int | None, bytes, bytes]:
    """Return exit code, stdout and stderr of a result that dropped no output, in the format of `run_in_plain_bash`."""
    return result.exit_code, result.out.head + result.out.tail, result.err.head + result.err.tail
