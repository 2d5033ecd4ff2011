"""Quarantine: what is undone is kept under another name, once, and no program acts on a file of that name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nacre.protected_paths import PathSnapshot
from nacre.protected_paths.quarantine import QUARANTINED

pytestmark = [pytest.mark.req("P-008"), pytest.mark.linux]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a directory whose path has no links."""
    made = tmp_path.resolve() / "place"
    made.mkdir()
    return made


def quarantined_files(place: Path) -> list[Path]:
    return sorted(path for path in place.iterdir() if path.name.endswith(QUARANTINED))


def test_new_file_is_quarantined_and_the_note_names_the_copy(place: Path) -> None:
    guard = PathSnapshot([f"{place}/AGENTS.md"], [str(place)])
    (place / "AGENTS.md").write_text("three hours of work")
    (said,) = guard.restore()
    (copy,) = quarantined_files(place)
    assert os.listdir(place) == [copy.name]
    assert copy.read_text() == "three hours of work"
    assert said == (
        f"{place}/AGENTS.md is protected: it was made, and has been removed. What was there is now called {copy.name}."
    )


def test_changed_file_is_restored_and_the_new_version_quarantined(place: Path) -> None:
    (place / "AGENTS.md").write_text("before")
    guard = PathSnapshot([f"{place}/AGENTS.md"], [str(place)])
    (place / "AGENTS.md").write_text("after")
    guard.restore()
    (copy,) = quarantined_files(place)
    assert ((place / "AGENTS.md").read_text(), copy.read_text()) == ("before", "after")


def test_changed_directory_is_quarantined_as_a_sibling(place: Path) -> None:
    """Inside the directory an agent would find `commands/evil.md` under any name."""
    (place / ".claude" / "commands").mkdir(parents=True)
    guard = PathSnapshot([f"{place}/.claude"], [str(place)])
    (place / ".claude" / "commands" / "evil.md").write_text("run it")
    guard.restore()
    (copy,) = quarantined_files(place)
    assert list((place / ".claude").rglob("*")) == [place / ".claude" / "commands"]
    assert (copy / "commands" / "evil.md").read_text() == "run it"


def test_identical_content_is_quarantined_once(place: Path) -> None:
    for _ in range(3):
        guard = PathSnapshot([f"{place}/.claude", f"{place}/AGENTS.md"], [str(place)])
        (place / ".claude").mkdir()
        (place / ".claude" / "settings.json").write_text("{}")
        (place / "AGENTS.md").write_text("x")
        first, second = guard.restore()
    assert len(quarantined_files(place)) == len(os.listdir(place)) == 2
    assert first.endswith(f"What was there is the same as {quarantined_files(place)[0].name}.")
    assert second.endswith(f"What was there is the same as {quarantined_files(place)[1].name}.")


def test_different_content_is_quarantined_separately(place: Path) -> None:
    for text in ("one", "two", "one"):
        guard = PathSnapshot([f"{place}/AGENTS.md"], [str(place)])
        (place / "AGENTS.md").write_text(text)
        guard.restore()
    assert sorted(path.read_text() for path in quarantined_files(place)) == ["one", "two"]


def test_forged_quarantine_file_is_not_overwritten(place: Path) -> None:
    """A command can compute the name and put a file there."""
    for forged in (True, False):
        guard = PathSnapshot([f"{place}/AGENTS.md"], [str(place)])
        (place / "AGENTS.md").write_text("work")
        guard.restore()
        if forged:
            quarantined_files(place)[0].write_text("forged")
    assert sorted(path.read_text() for path in quarantined_files(place)) == ["forged", "work"]


def test_replacement_with_the_same_content_is_not_reported(place: Path) -> None:
    (place / "config").write_text("same")
    guard = PathSnapshot([f"{place}/config"], [str(place)])
    (place / "other").write_text("same")
    (place / "other").rename(place / "config")
    assert guard.restore() == []


def test_hard_link_to_another_file_is_replaced_and_not_quarantined(place: Path) -> None:
    (place / "config").write_text("same")
    guard = PathSnapshot([f"{place}/config"], [str(place)])
    (place / "config").unlink()
    (place / "other").write_text("same")
    os.link(place / "other", place / "config")
    (said,) = guard.restore()
    assert said.endswith("and has been put back. What was there was a hard link to a file, which remains.")
    assert sorted(os.listdir(place)) == ["config", "other"]
    assert (place / "config").stat().st_nlink == 1


def test_empty_file_or_directory_is_not_quarantined(place: Path) -> None:
    guard = PathSnapshot([f"{place}/.claude", f"{place}/AGENTS.md"], [str(place)])
    (place / ".claude").mkdir()
    (place / "AGENTS.md").touch()
    assert all(said.endswith("has been removed. What was there was empty.") for said in guard.restore())
    assert os.listdir(place) == []


def test_symlink_is_not_quarantined_and_its_target_is_named(place: Path) -> None:
    guard = PathSnapshot([f"{place}/.claude"], [str(place)])
    (place / ".claude").symlink_to("elsewhere")
    (said,) = guard.restore()
    assert said.endswith("What was there was a link to elsewhere.")
    assert os.listdir(place) == []


def test_large_directory_is_quarantined_without_being_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guard = PathSnapshot([f"{place}/.claude"], [str(place)])
    (place / ".claude").mkdir()
    for number in range(1000):
        (place / ".claude" / str(number)).write_text("x")
    opened: list[str] = []
    really_open = os.open

    def count_open(path: str, *rest: int, dir_fd: int | None = None) -> int:
        opened.append(path)
        return really_open(path, *rest, dir_fd=dir_fd)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", count_open)
        guard.restore()
    (copy,) = quarantined_files(place)
    assert len(list(copy.iterdir())) == 1000
    assert len(opened) < 100


def test_long_name_is_shortened_for_quarantine(place: Path) -> None:
    name = "é" * 127
    guard = PathSnapshot([f"{place}/{name}"], [str(place)])
    (place / name).write_text("x")
    (said,) = guard.restore()
    assert "is now called" in said
    assert len(quarantined_files(place)) == 1


def test_quarantined_hook_has_a_name_that_git_does_not_run(place: Path) -> None:
    """Git runs hooks by exact names; `run-parts` and husky skip names with a dot there."""
    (place / "hooks").mkdir()
    guard = PathSnapshot([f"{place}/hooks/pre-commit"], [str(place)])
    (place / "hooks" / "pre-commit").write_text("#!/bin/sh\n")
    (place / "hooks" / "pre-commit").chmod(0o755)
    guard.restore()
    (copy,) = quarantined_files(place / "hooks")
    assert copy.suffix == QUARANTINED
