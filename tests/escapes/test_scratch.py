"""The private directory of a run: empty, not shared, and removed afterwards, whatever was left in it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from nacre import Request, Started, ToolContext
from nacre.result import Exited, TimedOut
from tests.escapes.inside import needs_landlock, python, run_restricted, tree
from tests.support.lifeline import Gate
from tests.support.unchecked import UNCHECKED
from tests.support.waiting import TIME_LIMITS_S, until

pytestmark = [pytest.mark.linux, pytest.mark.req("P-008"), needs_landlock]

LEFT = {
    "nothing": ":",
    "file": "echo x >file",
    "closed-file": "(umask 777; echo x >file)",
    "closed-directory": "mkdir -m 000 a && mkdir -p b/c && mkdir -m 000 b/c/d b/c/.d",
    "link-to-outside": 'ln -s "$OLDPWD" a; ln -s "$OLDPWD/kept" b; mkdir c; ln -s "$OLDPWD" c/d; ln -s / e',
    "link-to-itself": "ln -s a a; ln -s . b; mkdir c; ln -s .. c/d",
    "hard-links": "echo x >a; mkdir b; ln a b/c",
    "special-files": "mkfifo a; mkdir b; mkfifo b/c",
    "names-of-no-encoding": "mkdir $'\\xff\\xfe' && echo x >$'\\xff\\xfe/\\x80\\n' && mkdir -- -rf",
    "names-that-removing-uses": (
        'n=${TMPDIR##*tmp-}; mkdir -p {a..z}/b/c; for ((i = n; i < n + 60; i++)); do mkdir -p ".$i/x"; done'
    ),
    "2000-deep": python("for _ in range(2000):\n    os.mkdir('deep')\n    os.chdir('deep')\nopen('bottom', 'w')"),
    "20000-entries": python("open('a', 'w')\nfor n in range(20_000):\n    os.link('a', f'{n}')"),
    "socket": python("os.mknod('socket', 0o140600)"),
    "nameless-file": 'exec 5<>"$TMPDIR/x"; rm "$TMPDIR/x"; echo x >&5',
}


@pytest.mark.parametrize("leave", LEFT.values(), ids=LEFT)
async def test_private_directory_is_removed_whatever_was_left_in_it(leave: str, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("as it was")
    before = tree(tmp_path)
    result = await run_restricted(f'echo "$TMPDIR"; ls -A "$TMPDIR"; cd "$TMPDIR" && {leave}', tmp_path)
    assert result.outcome == Exited(0), result.output
    scratch = Path(result.stdout.removesuffix("\n"))
    assert scratch.is_absolute()  # and nothing was listed: it was empty
    await until(lambda: not scratch.exists(), "the end of the private directory")
    assert tree(tmp_path) == before


async def test_private_directory_is_accessible_to_its_owner_only() -> None:
    result = await run_restricted('stat -c "%a %u" "$TMPDIR" "$(dirname "$TMPDIR")"')
    assert result.stdout == f"700 {os.getuid()}\n" * 2


async def test_consecutive_runs_never_share_a_private_directory() -> None:
    places = [
        (await run_restricted('echo x >"$TMPDIR/x"; ls "$TMPDIR" | wc -l; echo "$TMPDIR"')).stdout for _ in range(10)
    ]
    assert [place.splitlines()[0] for place in places] == ["1"] * 10
    assert len({place.splitlines()[1] for place in places}) == 10


async def test_private_directory_of_another_run_cannot_be_changed(gate: Gate) -> None:
    stream = UNCHECKED.stream(Request(f'echo kept >"$TMPDIR/x"; echo "$TMPDIR"; {gate.wait}; cat "$TMPDIR/x"'), CONTEXT)
    told = b""
    async for event in stream:
        if not isinstance(event, Started):
            told += getattr(event, "data", b"")
        if told.endswith(b"\n"):
            break
    place = told.decode().strip()
    attempt = f'echo x >"{place}/x"; echo x >"{place}/y"; rm -rf "{place}"; mv "{place}" "$TMPDIR/"; ls "{place}"'
    result = await run_restricted(attempt)
    gate.open()
    rest = [getattr(event, "data", b"") async for event in stream]
    assert (result.stdout, b"".join(rest)) == ("x\n", b"kept\n")


CONTEXT = ToolContext(access="restricted")


async def test_private_directory_is_removed_after_a_timeout(tmp_path: Path) -> None:
    for limit in TIME_LIMITS_S:
        result = await run_restricted('echo x >"$TMPDIR/x"; echo "$TMPDIR"; sleep 600', timeout=limit)
        if result.stdout:
            break
    assert (result.outcome, result.stdout.startswith("/")) == (TimedOut(limit), True)
    scratch = Path(result.stdout.strip())
    await until(lambda: not scratch.exists(), "the end of the private directory")


async def test_private_directory_stays_while_leftovers_are_alive(gate: Gate) -> None:
    result = await run_restricted(f'echo "$TMPDIR"; ({gate.wait}; sleep 0) & echo x >"$TMPDIR/x"', leftovers="keep")
    scratch = Path(result.stdout.strip())
    await asyncio.gather(*(run_restricted("true") for _ in range(3)))
    assert (scratch / "x").exists()
    gate.open()
    await until(lambda: not scratch.exists(), "the end of the private directory")


async def test_private_directory_cannot_be_moved_or_replaced(tmp_path: Path) -> None:
    attempt = 'cd /; rmdir "$TMPDIR"; mv "$TMPDIR" "$TMPDIR.x"; rm -rf "$TMPDIR"; ln -sfn / "$TMPDIR"'
    result = await run_restricted(f'{attempt}; stat -c %F "$TMPDIR"')
    assert result.stdout == "directory\n"
