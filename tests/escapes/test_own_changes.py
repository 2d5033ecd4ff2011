"""Changes that the user makes to protected paths while a command runs are not lost, however the command ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.protected_paths.quarantine import QUARANTINED
from tests.support.confined import confined
from tests.support.held import Held
from tests.support.repositories import git

pytestmark = [pytest.mark.req("P-008"), *confined]


def quarantined_files(place: Path) -> dict[str, Path]:
    """Return the quarantined files by their original names."""
    found = [path for path in place.iterdir() if path.name.endswith(QUARANTINED)]
    return {path.name.removesuffix(QUARANTINED).rpartition("-")[0]: path for path in found}


async def test_new_files_of_the_user_are_quarantined_and_named_in_notes(repo: Path, mounts: bool) -> None:
    held = await Held(repo, "held", ":").begin()
    (repo / "AGENTS.md").write_text("three hours of work")
    (repo / ".claude").mkdir()
    (repo / ".claude" / "settings.local.json").write_text("{}")
    result = await held.end()
    copies = quarantined_files(repo)
    assert copies.keys() == {"AGENTS.md", ".claude"}
    assert copies["AGENTS.md"].read_text() == "three hours of work"
    assert (copies[".claude"] / "settings.local.json").read_text() == "{}"
    for name, copy in copies.items():
        (said,) = [note for note in result.notes if note.startswith(f"{repo / name} is protected")]
        assert said.endswith(f"What was there is now called {copy.name}.")


async def test_changed_file_of_the_user_is_not_lost(repo: Path, mounts: bool) -> None:
    (repo / "AGENTS.md").write_text("before")
    held = await Held(repo, "held", ":").begin()
    (repo / "AGENTS.md").write_text("after")
    result = await held.end()
    if mounts:  # the command could not write it: the user did, so it stays
        assert (repo / "AGENTS.md").read_text() == "after"
    else:
        assert (repo / "AGENTS.md").read_text() == "before"
        assert quarantined_files(repo)["AGENTS.md"].read_text() == "after"
    assert [note for note in result.notes if note.startswith(f"{repo}/AGENTS.md ")]


async def test_harmless_git_config_change_by_the_user_stays(repo: Path, mounts: bool) -> None:
    held = await Held(repo, "held", ":").begin()
    git(repo, "config", "user.email", "me@example.org")
    git(repo, "config", "branch.main.remote", "origin")
    await held.end()
    assert git(repo, "config", "user.email") == "me@example.org"
    assert git(repo, "config", "branch.main.remote") == "origin"


@pytest.mark.parametrize(
    "setting",
    [
        ("core.fsmonitor", "evil"),
        ("core.worktree", "/"),
        ("remote.origin.url", "https://evil.example"),
        ("remote.pushDefault", "https://evil.example"),
    ],
    ids=lambda setting: setting[0],
)
async def test_dangerous_git_config_change_is_reverted_and_quarantined(
    repo: Path, mounts: bool, setting: tuple[str, str]
) -> None:
    before = (repo / ".git" / "config").read_bytes()
    held = await Held(repo, "held", ":").begin()
    git(repo, "config", "user.email", "me@example.org")
    git(repo, "config", *setting)
    await held.end()
    assert (repo / ".git" / "config").read_bytes() == before
    assert "me@example.org" in quarantined_files(repo / ".git")["config"].read_text()


async def test_git_config_with_a_hard_link_or_new_mode_is_restored(repo: Path, mounts: bool) -> None:
    """Through its other name it could be changed later."""
    mode = (repo / ".git" / "config").stat().st_mode
    both = "cp .git/config shared && ln -f shared .git/config; chmod 777 .git/config"
    held = await Held(repo, "held", f"{{ {both}; }} 2>/dev/null").begin()
    await held.end()
    status = (repo / ".git" / "config").stat()
    assert (status.st_nlink, status.st_mode) == (1, mode)


async def test_identical_quarantined_copies_do_not_pile_up(repo: Path, mounts: bool) -> None:
    for _ in range(3):
        held = await Held(repo, "held", "echo evil > AGENTS.md").begin()
        await held.end()
    assert quarantined_files(repo)["AGENTS.md"].read_text() == "evil\n"
    assert len([path for path in repo.iterdir() if path.name.endswith(QUARANTINED)]) == 1
