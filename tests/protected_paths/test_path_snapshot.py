"""Protected paths without a mount: they are recorded, compared, restored and reported, despite all obstacles."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from nacre.protected_paths import PathSnapshot
from tests.protected_paths.directories import drop_quarantine_notes, fill_directory, quarantined_names, state

pytestmark = [pytest.mark.req("P-008"), pytest.mark.linux]


def replace_by_copy(path: Path) -> None:
    """Replace the file by another one with the same name and size."""
    other = path.with_name("other")
    other.write_text("x" * path.stat().st_size)
    other.rename(path)


def turn_link(place: Path) -> None:
    (place / "hooks" / "deep" / "link").unlink()
    (place / "hooks" / "deep" / "link").symlink_to("/")


def become_a_file(place: Path) -> None:
    shutil.rmtree(place / "hooks")
    (place / "hooks").write_text("evil")


def become_a_link(place: Path) -> None:
    (place / "hooks").rename(place.parent / "moved")
    (place / "hooks").symlink_to(place.parent / "moved")


def swap_file_for_directory(place: Path) -> None:
    (place / "hooks" / "run").unlink()
    (place / "hooks" / "run").mkdir()


DEEDS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "written": ("changed", lambda place: (place / "hooks" / "run").write_text("evil")),
    "made-inside": ("changed", lambda place: (place / "hooks" / "new").write_text("evil")),
    "made-deep-inside": ("changed", lambda place: (place / "hooks" / "deep" / "deeper" / "new").mkdir()),
    "removed-inside": ("changed", lambda place: (place / "hooks" / "run").unlink()),
    "replaced-inside": ("changed", lambda place: replace_by_copy(place / "hooks" / "run")),
    "made-runnable": ("changed", lambda place: (place / "hooks" / "deep" / "deeper" / "leaf").chmod(0o755)),
    "opened-up": ("changed", lambda place: (place / "hooks" / "deep").chmod(0o777)),
    "link-turned": ("changed", turn_link),
    "gone": ("removed", lambda place: shutil.rmtree(place / "hooks")),
    "moved": ("removed", lambda place: (place / "hooks").rename(place.parent / "moved")),
    "now-a-file": ("changed", become_a_file),
    "now-a-link": ("changed", become_a_link),
    "a-file-swapped-for-a-directory": ("changed", swap_file_for_directory),
    "a-fifo-inside": ("changed", lambda place: os.mkfifo(place / "hooks" / "fifo")),
}


@pytest.mark.parametrize(("deed", "do"), DEEDS.values(), ids=DEEDS)
def test_any_change_to_a_directory_is_undone_and_reported(place: Path, deed: str, do: Callable[[Path], object]) -> None:
    fill_directory(place)
    before = state(place)
    guard = PathSnapshot([f"{place}/hooks"], [str(place)])
    do(place)
    assert state(place) != before
    assert drop_quarantine_notes(guard.restore()) == [
        f"{place}/hooks is protected: it was {deed}, and has been put back."
    ]
    assert state(place) == before


def test_unchanged_path_is_not_reported(place: Path) -> None:
    fill_directory(place)
    guard = PathSnapshot([f"{place}/hooks", f"{place}/none"], [str(place)])
    (place / "beside").write_text("fine")
    assert guard.restore() == []


@pytest.mark.parametrize("kind", ["file", "directory", "link", "fifo"])
def test_new_path_is_removed_without_following_links(place: Path, kind: str) -> None:
    guard = PathSnapshot([f"{place}/.claude"], [str(place)])
    made = place / ".claude"
    if kind == "file":
        made.write_text("orders")
    elif kind == "directory":
        (made / "a" / "b").mkdir(parents=True)
        (made / "a" / "b").chmod(0)
        (made / "a").chmod(0)
    elif kind == "link":
        (place.parent / "target").mkdir()
        made.symlink_to(place.parent / "target")
    else:
        os.mkfifo(made)
    assert drop_quarantine_notes(guard.restore()) == [f"{made} is protected: it was made, and has been removed."]
    assert len(os.listdir(place)) == len(quarantined_names(place)) == (0 if kind in ("link", "fifo") else 1)
    assert (place.parent / "target").exists() == (kind == "link"), "the target of a link must stay"


def test_file_is_restored_with_its_mode(place: Path) -> None:
    (place / "config").write_text("[core]\n")
    (place / "config").chmod(0o640)
    guard = PathSnapshot([f"{place}/config"], [str(place)])
    (place / "config").unlink()
    (place / "config").write_text("[core]\n")
    (place / "config").chmod(0o666)
    assert drop_quarantine_notes(guard.restore()) == [
        f"{place}/config is protected: it was changed, and has been put back."
    ]
    assert state(place) == {"config": ("file", 0o640, b"[core]\n")}


def test_restore_never_writes_through_a_symlink(place: Path) -> None:
    """The command may have put a link where a file is restored."""
    fill_directory(place)
    victim = place.parent / "victim"
    victim.mkdir()
    (victim / "run").write_text("precious")
    guard = PathSnapshot([f"{place}/hooks"], [str(place)])
    shutil.rmtree(place / "hooks")
    (place / "hooks").symlink_to(victim)
    assert len(guard.restore()) == 1
    assert state(victim) == {"run": ("file", 0o644 & (victim / "run").stat().st_mode, b"precious")}
    assert not (place / "hooks").is_symlink()


def test_symlink_planted_above_a_missing_path_is_removed(place: Path) -> None:
    """`.git` as a link to a directory with hooks is as dangerous as hooks."""
    guard = PathSnapshot([f"{place}/.git/hooks", f"{place}/.git/config"], [str(place)])
    (place / "evil" / "hooks").mkdir(parents=True)
    (place / ".git").symlink_to("evil")
    assert drop_quarantine_notes(guard.restore()) == [
        f"{place}/.git/hooks is protected: a link was put at {place}/.git, and has been removed."
    ]
    assert not os.path.lexists(place / ".git")
    assert (place / "evil" / "hooks").is_dir(), "the target of the link must stay"


def test_parent_replaced_by_a_symlink_is_not_followed(place: Path) -> None:
    (place / ".git" / "hooks").mkdir(parents=True)
    guard = PathSnapshot([f"{place}/.git/hooks"], [str(place)])
    (place / ".git").rename(place / "away")
    (place / "evil" / "hooks").mkdir(parents=True)
    (place / ".git").symlink_to("evil")
    (said,) = guard.restore()
    assert said.startswith(f"{place}/.git/hooks is protected, was removed, and could not be put back: ")
    assert os.listdir(place / "evil" / "hooks") == []
    assert not os.path.lexists(place / ".git"), "the link must be removed"


def test_missing_parent_is_reported(place: Path) -> None:
    (place / "a").mkdir()
    (place / "a" / "kept").write_text("x")
    guard = PathSnapshot([f"{place}/a/kept"], [str(place)])
    shutil.rmtree(place / "a")
    assert drop_quarantine_notes(guard.restore()) == [
        f"{place}/a/kept is protected, was removed, and could not be put back: No such file or directory."
    ]


def test_restore_leaves_no_temporary_files(place: Path) -> None:
    fill_directory(place)
    before = set(os.listdir(os.fsencode(place)))
    guard = PathSnapshot([f"{place}/hooks"], [str(place)])
    (place / "hooks" / "run").write_text("evil")
    guard.restore()
    assert set(os.listdir(os.fsencode(place))) - {os.fsencode(name) for name in quarantined_names(place)} == before


def test_snapshot_without_paths_restores_nothing() -> None:
    assert PathSnapshot([], []).restore() == []


@pytest.mark.parametrize("name", ["run", "deep/deeper/leaf"])
def test_edit_that_keeps_size_and_mtime_is_undone(place: Path, name: str) -> None:
    fill_directory(place)
    before = state(place)
    guard = PathSnapshot([f"{place}/hooks"], [str(place)])
    path = place / "hooks" / name
    status = path.stat()
    with path.open("r+b") as file:
        file.write(b"evil")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert drop_quarantine_notes(guard.restore()) == [
        f"{place}/hooks is protected: it was changed, and has been put back."
    ]
    assert state(place) == before


def test_changed_timestamp_alone_is_not_reported(place: Path) -> None:
    fill_directory(place)
    guard = PathSnapshot([f"{place}/hooks"], [str(place)])
    os.utime(place / "hooks" / "run")
    assert guard.restore() == []


def test_git_directory_replaced_by_a_pointer_to_it_is_disarmed(place: Path) -> None:
    (place / ".git" / "hooks").mkdir(parents=True)
    guard = PathSnapshot([f"{place}/.git/hooks", f"{place}/.git/config"], [str(place)])
    (place / ".git").rename(place / ".x")
    (place / ".git").write_text("gitdir: ./.x\n")
    (said,) = guard.restore()
    assert said.partition(" What was there ")[0] == (
        f"{place}/.git/hooks is protected, was removed, and could not be put back: No such file or directory. "
        f"Also, a file was put at {place}/.git, and has been removed."
    )
    assert not os.path.lexists(place / ".git")
    assert (place / ".x" / "hooks").is_dir(), "the target of the link must stay"


@pytest.mark.parametrize("kind", ["file", "link"])
def test_file_that_already_blocked_the_path_stays(place: Path, kind: str) -> None:
    if kind == "file":
        (place / ".git").write_text("gitdir: /elsewhere\n")
    else:
        (place / ".git").symlink_to("elsewhere")
    before = state(place)
    assert PathSnapshot([f"{place}/.git/hooks"], [str(place)]).restore() == []
    assert state(place) == before


def test_symlink_put_above_the_roots_is_not_removed(place: Path) -> None:
    root = place / "root"
    (root / ".git" / "hooks").mkdir(parents=True)
    guard = PathSnapshot([f"{root}/.git/hooks", f"{root}/.claude"], [str(root)])
    root.rename(place / "moved")
    root.symlink_to("moved")
    (said,) = guard.restore()
    assert said.startswith(f"{root}/.git/hooks is protected, was removed, and could not be put back: ")
    assert root.is_symlink()
    assert sorted(os.listdir(root)) == [".git"]


def test_fifo_swapped_in_for_a_file_does_not_block(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "config").write_text("[core]\n")
    look = os.stat

    def stat_and_swap(path: str, *, dir_fd: int, follow_symlinks: bool) -> os.stat_result:
        status = look(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
        if path == "config" and stat.S_ISREG(status.st_mode):
            os.unlink(path, dir_fd=dir_fd)
            os.mkfifo(path, dir_fd=dir_fd)
        return status

    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", stat_and_swap)
        guard = PathSnapshot([f"{place}/config"], [str(place)])
    (said,) = guard.restore()
    assert said.startswith(f"{place}/config is protected, was changed")
