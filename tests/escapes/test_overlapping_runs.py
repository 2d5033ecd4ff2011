"""Runs that overlap in one workspace: files planted by one run do not count as the user's in another."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.confined import confined, run
from tests.support.held import Held

pytestmark = [pytest.mark.req("P-008"), *confined]


PLANTS: dict[str, tuple[str, Callable[[Path], object], object]] = {
    "a new directory": (
        "mkdir .claude; echo evil > .claude/settings.json",
        lambda place: (place / ".claude").exists(),
        False,
    ),
    "a file that was there": ("echo evil > .mcp.json", lambda place: (place / ".mcp.json").read_text(), "before"),
    "a link in git": (
        "ln -s ~/.bashrc .git/COMMIT_EDITMSG",
        lambda place: os.path.lexists(place / ".git" / "COMMIT_EDITMSG"),
        False,
    ),
    "a nested repository": (
        "git init -q inner; git -C inner config core.fsmonitor evil",
        lambda place: (place / "inner" / ".git" / "config").exists(),
        False,
    ),
}


@pytest.fixture
def repo(repo: Path) -> Path:
    (repo / ".git" / "COMMIT_EDITMSG").unlink()
    (repo / ".mcp.json").write_text("before")
    return repo


@pytest.mark.parametrize("first_ends_first", [True, False], ids=["first ends first", "second ends first"])
@pytest.mark.parametrize("plant", PLANTS)
async def test_file_planted_by_an_overlapping_run_is_undone(
    repo: Path, mounts: bool, plant: str, first_ends_first: bool
) -> None:
    command, look, expected = PLANTS[plant]
    first = await Held(repo, "first", f"{{ {command}; }} 2>/dev/null").begin()
    second = await Held(repo, "second", ":").begin()
    for each in (first, second) if first_ends_first else (second, first):
        await each.end()
    assert look(repo) == expected


async def test_file_restored_by_one_run_is_not_reported_by_the_other(repo: Path, mounts: bool) -> None:
    first = await Held(repo, "first", "mkdir .claude; (echo evil > .mcp.json) 2>/dev/null").begin()
    second = await Held(repo, "second", ":").begin()
    assert len((await first.end()).notes) == (1 if mounts else 2)
    assert not [note for note in (await second.end()).notes if "has been" in note]


async def test_second_run_cannot_plant_again_what_the_first_planted(repo: Path, mounts: bool) -> None:
    plant = "mkdir -p .claude; ln -sf ~/.bashrc .git/COMMIT_EDITMSG"
    first = await Held(repo, "first", plant).begin()
    second = await Held(repo, "second", ":", then=plant).begin()
    await first.end()
    assert not (repo / ".claude").exists()
    await second.end()
    assert not (repo / ".claude").exists()
    assert not os.path.lexists(repo / ".git" / "COMMIT_EDITMSG")


async def test_change_by_the_user_between_two_runs_is_kept(repo: Path, mounts: bool) -> None:
    first, second = await Held(repo, "first", ":").begin(), await Held(repo, "second", ":").begin()
    await first.end()
    await second.end()
    (repo / ".claude").mkdir()
    (repo / ".claude" / "settings.local.json").write_text("{}")
    (repo / ".mcp.json").write_text("after")
    result = await run("true", repo)
    assert (result.ok, result.notes) == (True, ())
    assert (repo / ".claude" / "settings.local.json").read_text() == "{}"
    assert (repo / ".mcp.json").read_text() == "after"


async def test_run_that_fails_to_start_leaves_no_view_behind(
    repo: Path, mounts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("no engine")

    with monkeypatch.context() as patched:
        patched.setattr("nacre.execution.execution.start_run", fail)
        with pytest.raises(RuntimeError) as caught:
            await run("true", repo)
    (repo / ".claude").mkdir()
    assert (await run("true", repo)).notes == ()
    assert (repo / ".claude").exists()
    assert str(caught.value) == "no engine"  # and its traceback is still referenced
