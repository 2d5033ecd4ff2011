"""Host programs in processes of their own, to test what a whole process does or what happens when it dies."""

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
    """Return the argv that runs the program in Python with every warning an error."""
    return [sys.executable, "-W", "error", "-c", dedent(program), *map(str, arguments)]


def run_host(
    program: str,
    *arguments: object,
    within: float = 3 * HANG_TIMEOUT_S,
    env: Mapping[str, str] | None = None,
    through: Sequence[str] = (),
    cwd: Path = ROOT,
) -> str:
    """Run the program, with `through` as an argv prefix; return its stdout. It must exit 0 with empty stderr."""
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
    if reason := re.search("^Skipped: (.*)", done.stderr, re.MULTILINE):  # a helper in that process called pytest.skip
        pytest.skip(reason[1])
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


@contextmanager
def started_host(program: str, *arguments: object, own_group: bool = False) -> Iterator[subprocess.Popen[str]]:
    """Run the program inside the block; kill it at the end if it is still alive."""
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
    """Send SIGKILL and wait until the process is dead."""
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(pid), f"the death of {pid}")
