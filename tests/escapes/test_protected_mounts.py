"""Attempts to change protected files through another mount of the same files inside the workspace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.escapes.inside import needs_landlock
from tests.support.confined import confined, needs_mounts
from tests.support.hosts import run_host
from tests.support.mounts import in_own_mounts

pytestmark = [*confined, pytest.mark.req("P-008"), needs_landlock, needs_mounts]

RUNS = """
    import asyncio, json, sys
    from nacre import Request, ToolContext
    from tests.support.unchecked import UNCHECKED

    place, writable, command = sys.argv[1:]
    ctx = ToolContext(access="workspace", working_dir=place, writable=(writable,) if writable else ())
    result = asyncio.run(UNCHECKED.run(Request(command), ctx))
    print(json.dumps([result.exit_code, [part for part in result.enforced if part.startswith("protected")]]))
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("work/.git/hooks", "work/.git/objects", "work/.git/refs", "work/git", "work/hooks", "other"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "work" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "work" / ".git" / "config").write_text("[core]\n")
    return tmp_path


@pytest.mark.parametrize(
    ("mounts", "command", "writable"),
    [
        ("mount --bind work/.git work/git", "echo x > git/hooks/pre-commit", ""),
        ("mount --bind work/.git work/git", "echo x > git/config", ""),
        ("mount --bind work/.git/hooks work/hooks", "echo x > hooks/pre-commit", ""),
        ("mount --bind work other", "echo x > ../other/.git/hooks/pre-commit", "other"),
    ],
)
def test_bind_mount_of_protected_files_is_read_only(place: Path, mounts: str, command: str, writable: str) -> None:
    through = in_own_mounts(f'(cd "$1"; {mounts})', place)
    named = place / writable if writable else ""
    code, enforced = json.loads(run_host(RUNS, place / "work", named, command, through=through))
    assert (code, enforced) == (1, ["protected-existing"])
    assert not (place / "work" / ".git" / "hooks" / "pre-commit").exists()
    assert (place / "work" / ".git" / "config").read_text() == "[core]\n"


def test_bind_mount_of_an_unprotected_directory_stays_writable(place: Path) -> None:
    through = in_own_mounts('(cd "$1"; mount --bind other work/git)', place)
    told = run_host(RUNS, place / "work", "", "echo x > git/file", through=through)
    assert json.loads(told)[0] == 0
    assert (place / "other" / "file").read_text() == "x\n"
