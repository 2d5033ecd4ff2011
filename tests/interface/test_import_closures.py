"""Modules that each process loads: nacre's own by name, so that a new one shows in a diff, and no slow ones.

Each module adds about 0.2 ms to a start, and the keeper, the hook and `nacre check` start very often.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.hooks.fixtures import payload_of
from tests.interface.program import Program
from tests.interface.snapshot import check_snapshot
from tests.support.confined import HERE
from tests.support.hosts import run_host

SLOW = {
    "argparse",
    "ast",
    "asyncio",
    "dataclasses",
    "email",
    "inspect",
    "json",
    "logging",
    "pathlib",
    "random",
    "re",
    "rich",
}
SLOW |= {"shutil", "subprocess", "tempfile", "threading", "tomllib", "typing", "uuid"}
"""Modules that no keeper may load. It needs `ctypes` (system calls) and `enum` (imported by `signal`)."""
_IMPORTED = re.compile(r"^import time: +\d+ \| +\d+ \| +(\S+)$", re.MULTILINE)

RUN = """
    import asyncio, sys
    import nacre

    sys.executable = sys.argv[1]  # the keeper's Python

    async def main():
        for access in sys.argv[2:]:
            result = await nacre.run("echo hi; exit 3", access=access, timeout=60)
            assert result.exit_code == 3, result

    asyncio.run(main())
"""


def read_imports(directory: Path, *access: str) -> set[str]:
    """Return the modules that a keeper has loaded after running a command in each access mode."""
    log, wrapper = directory / "imports", directory / "python"
    python, target = shlex.quote(sys.executable), shlex.quote(str(log))
    wrapper.write_text(f'#!/bin/bash\nexec {python} -X importtime "$@" 2>>{target}\n')
    wrapper.chmod(0o755)
    run_host(RUN, wrapper, *access)
    return set(_IMPORTED.findall(log.read_text()))


def own_modules(names: set[str]) -> list[str]:
    return sorted(name for name in names if name.partition(".")[0] == "nacre")


def test_keeper_modules_for_an_unrestricted_command_match_their_snapshot(tmp_path: Path) -> None:
    found = read_imports(tmp_path, "unrestricted")
    assert not found & SLOW
    check_snapshot("imports_keeper", own_modules(found))


@pytest.mark.linux
@pytest.mark.skipif(not HERE.confines, reason="no sandbox on this kernel")
def test_keeper_modules_for_a_sandboxed_command_match_their_snapshot(tmp_path: Path) -> None:
    found = read_imports(tmp_path, "restricted")
    assert not found & SLOW
    check_snapshot("imports_keeper_confined", own_modules(found))


@pytest.mark.parametrize(
    ("name", "words", "stdin"),
    [
        ("hook", ["hook"], json.dumps(payload_of("claude-code", "no opinion")).encode()),
        ("check", ["check", "ls -la | grep x"], b""),
        ("version", ["--version"], b""),
    ],
)
def test_modules_loaded_by_cli_commands_match_their_snapshot(
    program: Program, name: str, words: list[str], stdin: bytes
) -> None:
    done = program.run(*words, stdin=stdin, env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert done.code == 0, done
    found = set(_IMPORTED.findall(done.err.decode()))
    check_snapshot(f"imports_{name}", own_modules(found))
