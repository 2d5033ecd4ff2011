"""Programs that are hosts of their own: what a whole process does, or what happens when it dies."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import pytest

from tests.support.census import is_alive
from tests.support.waiting import HANG_TIMEOUT_S, wait_until

ROOT = Path(__file__).parents[2]


def command(program: str, *arguments: object) -> list[str]:
    """Python with every warning an error."""
    return [sys.executable, "-W", "error", "-c", dedent(program), *map(str, arguments)]


def run_host(
    program: str,
    *arguments: object,
    within: float = 3 * HANG_TIMEOUT_S,
    env: Mapping[str, str] | None = None,
    through: Sequence[str] = (),
    cwd: Path = ROOT,
) -> str:
    """What the program prints, started `through` another. It has to succeed and to say nothing on stderr."""
    elsewhere = {} if cwd == ROOT else {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*through, *command(program, *arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=within,
        check=False,
        cwd=cwd,
        env={**os.environ, **elsewhere, **(env or {})},
    )
    if reason := re.search("^Skipped: (.*)", done.stderr, re.MULTILINE):  # a helper of ours there has asked for it
        pytest.skip(reason[1])
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


@contextmanager
def started_host(program: str, *arguments: object, own_group: bool = False) -> Iterator[subprocess.Popen[str]]:
    """A program that goes on while the test looks at it; killed at the end, if it still runs."""
    with subprocess.Popen(
        command(program, *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        process_group=0 if own_group else None,
    ) as host:
        try:
            yield host
        finally:
            host.kill()


def kill(pid: int) -> None:
    """SIGKILL, and until it is dead."""
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(pid), f"the death of {pid}")
