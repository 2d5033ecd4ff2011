"""Helpers for tests of sandboxed commands: the kernel's abilities, and running commands in a workspace."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from nacre import Bash, Request, Result, ToolContext
from nacre.result import Exited
from nacre.sandbox.probe import probe
from tests.support.waiting import HANG_TIMEOUT_S

HERE = probe()
confined = [
    pytest.mark.linux,
    pytest.mark.skipif(not (HERE.confines and HERE.seccomp), reason="no sandbox on this kernel"),
]
needs_mounts = pytest.mark.skipif(not HERE.mounts, reason="needs mount namespaces, which only root has")
needs_networks = pytest.mark.skipif(not HERE.networks, reason="needs network namespaces, which only root has")
needs_ports = pytest.mark.skipif(HERE.landlock < 4, reason="needs Landlock's network rules")
PYTHON = f"{shlex.quote(sys.executable)} -IS"


async def run(command: str, place: Path, *, env: dict[str, str] | None = None, **given: Any) -> Result:
    """Run the command in `place`; approve everything that the checker asks about, so that only the kernel stops it."""
    context = {"access": "workspace", "working_dir": place, "approve": lambda _: True, **given}
    return await Bash().run(Request(command, env=env or {}, timeout=HANG_TIMEOUT_S), ToolContext(**context))


async def try_all(commands: dict[str, str], place: Path, **given: Any) -> tuple[list[str], Result]:
    """Run each command in a subshell of one run; return the names of those that succeeded, and the result."""
    text = "\n".join(f"( {command} ) >/dev/null 2>&1 && echo {name}" for name, command in commands.items())
    result = await run(f"{text}\n:", place, **given)
    assert result.outcome == Exited(0), result
    return result.stdout.split(), result
