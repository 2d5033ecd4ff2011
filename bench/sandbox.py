"""Cost of the sandbox: a restricted command compared with an unrestricted one, and with other sandboxes."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time

from bench.measure import BASH, HERE, Answering, Once, Row, medians, ms, process
from nacre import Bash, ToolContext

ROUNDS = 300
_PYTHON = HERE.parent / ".venv-rivals" / "bin" / "python"
_BWRAP = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-net", "--die-with-parent")
_STANDBY_START_S = 0.004
"""Seconds until the next standby shell has been started."""


def time_second_run(bash: Bash, ctx: ToolContext) -> Once:
    """Time a command that follows one with the same access, as in a conversation."""

    async def once() -> float:
        await bash.run("true", ctx)
        await asyncio.sleep(_STANDBY_START_S)
        start = time.perf_counter()
        await bash.run("true", ctx)
        return time.perf_counter() - start

    return once


def _has(package: str) -> bool:
    return _PYTHON.exists() and not subprocess.run([_PYTHON, "-c", f"import {package}"], capture_output=True).returncode


async def rows() -> list[Row]:
    bash = Bash()
    rivals = {
        "free": time_second_run(bash, ToolContext()),
        "restricted": time_second_run(bash, ToolContext(access="restricted")),
        "strict": time_second_run(bash, ToolContext(access="restricted", strict=True)),
        "workspace": time_second_run(bash, ToolContext(access="workspace", working_dir=os.getcwd())),
        "bash": process(BASH, "-c", "true"),
    }
    sandlock = None
    if shutil.which("bwrap"):
        rivals["bwrap"] = process("bwrap", *_BWRAP, BASH, "-c", "true")
    if _has("sandlock"):
        sandlock = Answering(str(_PYTHON), str(HERE / "rivals" / "with_sandlock.py"))
        rivals["sandlock"] = sandlock.once
    if _has("py_landlock"):
        rivals["py-landlock"] = process(str(_PYTHON), str(HERE / "rivals" / "with_py_landlock.py"))
    took = await medians(rivals, ROUNDS)
    if sandlock is not None:
        sandlock.close()
    free = took["free"]
    names = {
        "restricted": ("the same, `restricted`", "≤ 1.15"),
        "strict": ("… `strict`, without a TMPDIR of its own", ""),
        "workspace": ("… `workspace`", ""),
        "bash": ("`bash -c true` by `subprocess.run`, not confined", ""),
        "bwrap": ("… by bubblewrap, read-only, without network", "> restricted"),
        "sandlock": ("`sandlock`'s `Sandbox.run`, reading everything", "> restricted"),
        "py-landlock": ("`py-landlock` with a launcher in Python", "> restricted"),
    }
    found = [Row('`bash.run("true")`', ms(free))]
    for name, (what, goal) in names.items():
        if name in took:
            found.append(Row(what, ms(took[name]), f"{took[name] / free:.2f} ×", goal))
        else:
            found.append(Row(what, "not available here"))
    return found
