"""Protected paths without a mount: large files, deep trees, unreadable entries and exhausted resources."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nacre.keeper.protocol.private_tmpdir import remove_tree
from nacre.protected_paths import PathSnapshot
from nacre.protected_paths import snapshot as guards
from tests.protected_paths.directories import drop_quarantine_notes, fill_directory, quarantined_names, state
from tests.support.hosts import run_host

pytestmark = [pytest.mark.req("P-008"), pytest.mark.linux]


def test_change_to_a_file_too_large_to_record_is_only_reported(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "_MAX_CONTENT_BYTES", 1000)
    (place / "small").write_bytes(b"s" * 600)
    (place / "large").write_bytes(b"l" * 600)
    guard = PathSnapshot([f"{place}/small", f"{place}/large"], [str(place)])
    (place / "small").write_bytes(b"changed")
    (place / "large").write_bytes(b"changed")
    assert drop_quarantine_notes(guard.restore()) == [
        f"{place}/small is protected: it was changed, and has been put back.",
        f"{place}/large is protected, was changed, and could not be put back: it was too large for the snapshot.",
    ]
    assert state(place)["large"][2] == b"changed"
    assert state(place)["small"][2] == b"s" * 600


@pytest.mark.parametrize(
    "names", [["d" * 200] * 60, ["d"] * 1500], ids=["longer than PATH_MAX", "deeper than the recursion limit"]
)
def test_deep_tree_is_moved_away(place: Path, names: list[str]) -> None:
    guard = PathSnapshot([f"{place}/.claude"], [str(place)])
    fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    for name in (".claude", *names):
        os.mkdir(name, dir_fd=fd)
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    assert drop_quarantine_notes(guard.restore()) == [
        f"{place}/.claude is protected: it was made, and has been removed."
    ]
    (kept,) = os.listdir(place)
    assert [kept] == quarantined_names(place)
    remove_tree(os.fsencode(place / kept))  # pytest could not remove it


def test_directory_without_permissions_is_opened_and_restored(place: Path) -> None:
    fill_directory(place)
    before = state(place)
    guard = PathSnapshot([f"{place}/hooks"], [str(place)])
    (place / "hooks" / "run").write_text("evil")
    (place / "hooks").chmod(0)
    assert drop_quarantine_notes(guard.restore()) == [
        f"{place}/hooks is protected: it was changed, and has been put back."
    ]
    assert state(place) == before


def test_entries_that_were_unreadable_before_are_left_in_place(place: Path) -> None:
    (place / "hooks" / "closed").mkdir(parents=True)
    (place / "hooks" / "file").write_text("x")
    for closed in (place / "hooks" / "closed", place / "hooks" / "file"):
        closed.chmod(0)
    guard = PathSnapshot([f"{place}/hooks"], [str(place)])
    (place / "hooks" / "new").write_text("evil")
    (said,) = guard.restore()
    (place / "hooks" / "closed").chmod(0o700)
    assert said.startswith(f"{place}/hooks is protected")
    assert {"closed", "file"} <= set(os.listdir(place / "hooks"))


def test_running_out_of_fds_is_not_taken_for_missing_files(place: Path) -> None:
    (place / "closed" / "deep").mkdir(parents=True)
    (place / "closed" / "deep" / "file").write_text("text")
    program = """
        import os, sys
        from nacre.protected_paths import PathSnapshot
        from tests.support.descriptors import limit_descriptors, no_descriptor_left

        limit_descriptors(60)
        said = []
        for spare in range(8):
            with no_descriptor_left() as held:
                for _ in range(spare):
                    os.close(held.pop())
                try:
                    guard = PathSnapshot([f"{sys.argv[1]}/closed"], [sys.argv[1]])
                except OSError as error:
                    said.append(error.strerror)
                    continue
            said.append(guard.restore())
        print(said[0], said[-1], sorted({str(each) for each in said}))
    """
    before = state(place)
    assert run_host(program, place) == "Too many open files [] ['Too many open files', '[]']\n"
    assert state(place) == before


def test_edit_of_a_large_file_that_keeps_size_and_mtime_is_reported(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guards, "_MAX_CONTENT_BYTES", 3)
    (place / "config").write_text("[core]")
    guard = PathSnapshot([f"{place}/config"], [str(place)])
    status = (place / "config").stat()
    (place / "config").write_text("[evil]")
    os.utime(place / "config", ns=(status.st_atime_ns, status.st_mtime_ns))
    (said,) = guard.restore()
    assert "was changed, and could not be put back" in said


def test_change_to_an_oversized_directory_is_only_reported(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "_MAX_ENTRIES", 10)
    (place / "large").mkdir()
    for number in range(20):
        (place / "large" / str(number)).touch()
    guard = PathSnapshot([f"{place}/large"], [str(place)])
    assert guard.restore() == []
    (place / "large" / "new").touch()
    assert drop_quarantine_notes(guard.restore()) == [
        f"{place}/large is protected, was changed, and could not be put back: it was too large for the snapshot."
    ]


def test_directory_filled_beyond_the_bound_is_restored(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "_MAX_ENTRIES", 100)
    fill_directory(place)
    before = state(place)
    guard = PathSnapshot([f"{place}/hooks", f"{place}/none"], [str(place)])
    for number in range(200):
        (place / "hooks" / "deep" / str(number)).touch()
    (place / "none").mkdir()
    for number in range(200):
        (place / "none" / str(number)).touch()
    assert drop_quarantine_notes(guard.restore()) == [
        f"{place}/hooks is protected: it was changed, and has been put back.",
        f"{place}/none is protected: it was made, and has been removed.",
    ]
    assert state(place) == before
