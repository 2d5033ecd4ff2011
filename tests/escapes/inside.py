"""Helpers for escape attempts: run one inside the sandbox, run it outside as a control, and compare files.

An attempt that fails because a program or a permission is missing proves nothing. So each attempt runs twice: inside,
where it must fail, and outside, where it must succeed; if it fails outside, too, the test is skipped with the reason.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import pytest

from nacre import Limits, Request, Result, ToolContext
from nacre.sandbox.probe import kernel
from nacre.types import Leftovers
from tests.support.unchecked import UNCHECKED

needs_landlock = pytest.mark.skipif(
    os.uname().sysname == "Linux" and not kernel().confines, reason=f"no sandbox to escape from: {kernel().missing}"
)
needs_scopes = pytest.mark.skipif(kernel().landlock < 6, reason="signals are scoped from Landlock ABI 6 on")

HELPERS = """
import ctypes, errno, os, platform, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
here = platform.machine()
def call(x86_64, aarch64, *arguments):
    'The number on each machine; None for a call that it does not have.'
    number = {"x86_64": x86_64, "aarch64": aarch64}.get(here)
    if number is None:
        sys.exit(f"no such call on {here}")
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    answer = libc.syscall(ctypes.c_long(number), *words)
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer
def said(work, *arguments):
    'The name of the error, or "done".'
    try:
        work(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"
"""


def python(program: str, *arguments: object) -> str:
    """Return shell text that runs a Python program with `HELPERS`."""
    words = [sys.executable, "-I", "-S", "-c", HELPERS + dedent(program), *map(str, arguments)]
    return shlex.join(words)


async def run_restricted(
    command: str,
    cwd: Path | None = None,
    *,
    strict: bool = False,
    leftovers: Leftovers | None = None,
    stdin: str | None = None,
    timeout: float | None = None,
    limits: Limits | None = None,
) -> Result:
    """Run the command in `restricted`; check that the kernel restricted it."""
    context = ToolContext(access="restricted", working_dir=cwd, strict=strict, limits=limits or Limits())
    result = await UNCHECKED.run(Request(command, leftovers=leftovers, stdin=stdin, timeout=timeout), context)
    assert {"writes", "network", "privileges"} <= set(result.enforced)
    return result


async def run_unrestricted(command: str, cwd: Path | None = None, *, env: Mapping[str, str] | None = None) -> Result:
    return await UNCHECKED.run(Request(command, env=env or {}), ToolContext(working_dir=cwd))


class Seen(NamedTuple):
    """State of a file. Its ctime changes with every operation except reading."""

    kind: str
    status: tuple[int, ...]
    content: bytes


def tree(top: Path) -> dict[str, Seen]:
    """Return the state of every file below `top`, by relative path."""
    return {str(path.relative_to(top)): _path_state(path) for path in [top, *sorted(top.rglob("*"))]}


def _path_state(path: Path) -> Seen:
    status = path.lstat()
    marks = (status.st_mode, status.st_ino, status.st_nlink, status.st_uid, status.st_gid, status.st_size)
    kind = "link" if path.is_symlink() else "directory" if path.is_dir() else "file" if path.is_file() else "special"
    content = os.fsencode(path.readlink()) if kind == "link" else path.read_bytes() if kind == "file" else b""
    return Seen(kind, (*marks, status.st_mtime_ns, status.st_ctime_ns), content)
