"""Mounts that vanish when another process replaces the path below them: the effects, and the result's notes."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
from pathlib import Path

import pytest

from nacre.engines import LOCAL, Bubblewrap, Engine
from tests.support.confined import HERE, confined
from tests.support.held import Held
from tests.support.namespaces import BWRAP, skip_without_bubblewrap
from tests.support.repositories import git, repository

pytestmark = [pytest.mark.req("P-008"), *confined]


@pytest.fixture(params=["local", BWRAP])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "local":
        if not HERE.mounts:
            pytest.skip("needs mount namespaces, which only root has")
        return LOCAL
    skip_without_bubblewrap()
    return Bubblewrap()


def replace_with(path: Path, text: str) -> None:
    """Replace the file by renaming, as editors and git do."""
    other = path.with_name("other-file")
    other.write_text(text)
    other.rename(path)


async def test_replaced_protected_file_is_restored_and_not_called_protected(place: Path, engine: Engine) -> None:
    (place / ".mcp.json").write_text("before")
    held = await Held(place, "held", ":", "echo evil > .mcp.json", engine=engine).begin()
    replace_with(place / ".mcp.json", "the user's")
    result = await held.end()
    assert (place / ".mcp.json").read_text() == "before"
    assert {"protected", "protected-existing"}.isdisjoint(result.enforced)
    assert [note for note in result.notes if "was replaced from outside" in note]
    kept = [path for path in place.iterdir() if path.name.endswith(".nacre-quarantined")]
    assert len(kept) == 1, "the replacement may be the user's and must be kept"


async def test_replaced_protected_directory_is_restored(place: Path, engine: Engine) -> None:
    (place / ".claude").mkdir()
    (place / ".claude" / "settings.json").write_text("before")
    held = await Held(place, "held", ":", "echo evil > .claude/settings.json", engine=engine).begin()
    (place / ".claude").rename(place / "away")
    (place / ".claude").mkdir()
    result = await held.end()
    assert (place / ".claude" / "settings.json").read_text() == "before"
    assert "protected-existing" not in result.enforced


async def test_git_config_changed_by_the_user_during_a_run_stays(place: Path, engine: Engine) -> None:
    repo = repository(place / "repo")
    held = await Held(repo, "held", ":", engine=engine).begin()
    git(repo, "config", "user.name", "Somebody Else")
    result = await held.end()
    assert git(repo, "config", "user.name") == "Somebody Else"
    assert "protected-existing" not in result.enforced
    assert [note for note in result.notes if "not protected from then on" in note]


async def test_git_config_armed_after_a_user_change_is_restored(place: Path, engine: Engine) -> None:
    repo = repository(place / "repo")
    before = (repo / ".git" / "config").read_bytes()
    arm = "printf '[core]\\n\\tfsmonitor = evil\\n' >> .git/config"
    held = await Held(repo, "held", ":", arm, engine=engine).begin()
    git(repo, "config", "user.name", "Somebody Else")
    await held.end()
    assert (repo / ".git" / "config").read_bytes() == before


async def test_file_changed_in_place_from_outside_is_kept_and_reported(place: Path, engine: Engine) -> None:
    (place / "AGENTS.md").write_text("before")
    held = await Held(place, "held", ":", "(echo evil > AGENTS.md) 2>/dev/null; true", engine=engine).begin()
    with open(place / "AGENTS.md", "a", encoding="ascii") as file:
        file.write(" and after")
    result = await held.end()
    assert (place / "AGENTS.md").read_text() == "before and after"
    assert "protected-existing" in result.enforced
    assert [note for note in result.notes if "was changed from outside" in note]


async def test_replaced_hidden_workspace_file_is_not_called_hidden(place: Path, engine: Engine) -> None:
    (place / "key").write_text("secret one")
    held = await Held(place, "held", ":", "cat key", engine=engine, hidden=("key",)).begin()
    replace_with(place / "key", "secret two")
    result = await held.end()
    assert "secret one" not in result.stdout
    assert ("secret two" in result.stdout) <= ("hidden" not in result.enforced)
    assert "hidden" not in result.enforced
    assert [note for note in result.notes if "not hidden from then on" in note]


async def test_directory_moved_away_and_back_is_not_called_hidden_or_protected(place: Path, engine: Engine) -> None:
    """Another process moves it away, puts a copy with the same files in its place, and moves it back."""
    directory, away = place / ".github", place / "away"
    (directory / "hooks").mkdir(parents=True)
    (directory / "hooks" / "hook").write_text("before")
    (directory / "key").write_text("secret")
    read = "cat .github/key; echo evil > .github/hooks/hook; echo read; read -r _ < again"
    os.mkfifo(place / "again")
    held = await Held(place, "held", ":", read, engine=engine, hidden=(".github/key",)).begin()
    directory.rename(away)
    (directory / "hooks").mkdir(parents=True)
    for name in ("key", "hooks/hook"):
        os.link(away / name, directory / name)
    ended = asyncio.create_task(held.end())
    with await asyncio.to_thread((place / "again").open, "w") as gate:  # the command has reached the FIFO
        shutil.rmtree(directory)
        away.rename(directory)
        gate.write("go\n")
    result = await ended
    assert "secret" in result.stdout, "the command read nothing, so the test proves nothing"
    assert {"hidden", "protected", "protected-existing"}.isdisjoint(result.enforced)
    assert (directory / "hooks" / "hook").read_text() == "before"


async def test_replaced_hidden_outside_file_stays_hidden_or_is_not_called_so(place: Path, engine: Engine) -> None:
    key = place.parent / "key"
    key.write_text("secret one")
    read = f"cat {shlex.quote(str(key))} 2>/dev/null; true"
    held = await Held(place, "held", ":", read, engine=engine, hidden=(key,)).begin()
    replace_with(key, "secret two")
    result = await held.end()
    assert ("secret" in result.stdout) <= ("hidden" not in result.enforced)
    if engine is LOCAL:
        assert "secret" not in result.stdout, "Landlock has not granted the replacement"
        assert "hidden" in result.enforced


async def test_no_note_is_made_when_nothing_was_replaced(place: Path, engine: Engine) -> None:
    (place / ".mcp.json").write_text("before")
    (place / "key").write_text("secret")
    held = await Held(place, "held", ":", "cat key .mcp.json 2>/dev/null; true", engine=engine, hidden=("key",)).begin()
    result = await held.end()
    assert result.stdout == "done\nbefore"
    assert result.notes == ()
    assert {"protected-existing", "hidden"} <= set(result.enforced)
    assert os.listdir(place).count(".mcp.json") == 1
