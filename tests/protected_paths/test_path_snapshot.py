"""Protected paths without a mount: they are recorded, compared, restored and reported, despite all obstacles."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from nacre.keeper.protocol.private_tmpdir import remove_tree
from nacre.protected_paths import PathSnapshot
from nacre.protected_paths import snapshot as guards
from nacre.protected_paths.quarantine import QUARANTINED
from tests.support.hosts import run_host

pytestmark = [pytest.mark.req("P-008"), pytest.mark.linux]

State = dict[str, tuple[str, int, bytes]]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a directory whose path has no links."""
    made = tmp_path.resolve() / "place"
    made.mkdir()
    return made


def quarantined_names(place: Path) -> list[str]:
    return [name for name in os.listdir(place) if name.endswith(QUARANTINED)]


def briefly(said: list[str]) -> list[str]:
    """Return the messages without the fate of the other version."""
    return [each.partition(" What was there ")[0] for each in said]


def state(place: Path) -> State:
    """Return kind, mode and content of everything below, except what is quarantined."""
    found: State = {}
    kept = set(quarantined_names(place))
    for path in sorted(place.rglob("*")):
        if kept & set(path.relative_to(place).parts[:1]):
            continue
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            entry = ("link", 0, os.fsencode(os.readlink(path)))
        elif stat.S_ISDIR(mode):
            entry = ("directory", stat.S_IMODE(mode), b"")
        else:
            entry = ("file", stat.S_IMODE(mode), path.read_bytes() if stat.S_ISREG(mode) else b"")
        found[os.fsdecode(os.fsencode(path.relative_to(place)))] = entry
    return found


def furnish(place: Path) -> None:
    (place / "hooks" / "deep" / "deeper").mkdir(parents=True)
    (place / "hooks" / "run").write_text("#!/bin/sh\n")
    (place / "hooks" / "run").chmod(0o751)
    (place / "hooks" / "deep" / "deeper" / "leaf").write_bytes(bytes(range(256)))
    (place / "hooks" / "deep" / "link").symlink_to("/no/such/place")
    (place / "hooks" / "deep").chmod(0o710)
    Path(os.fsdecode(os.fsencode(place) + b"/hooks/caf\xe9")).write_text("not UTF-8")


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
    furnish(place)
    before = state(place)
    guard = PathSnapshot([f"{place}/hooks"], [str(place)])
    do(place)
    assert state(place) != before
    assert briefly(guard.restore()) == [f"{place}/hooks is protected: it was {deed}, and has been put back."]
    assert state(place) == before


def test_unchanged_path_is_not_reported(place: Path) -> None:
    furnish(place)
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
    assert briefly(guard.restore()) == [f"{made} is protected: it was made, and has been removed."]
    assert len(os.listdir(place)) == len(quarantined_names(place)) == (0 if kind in ("link", "fifo") else 1)
    assert (place.parent / "target").exists() == (kind == "link"), "what a link leads to is left alone"


def test_file_is_restored_with_its_mode(place: Path) -> None:
    (place / "config").write_text("[core]\n")
    (place / "config").chmod(0o640)
    guard = PathSnapshot([f"{place}/config"], [str(place)])
    (place / "config").unlink()
    (place / "config").write_text("[core]\n")
    (place / "config").chmod(0o666)
    assert briefly(guard.restore()) == [f"{place}/config is protected: it was changed, and has been put back."]
    assert state(place) == {"config": ("file", 0o640, b"[core]\n")}


def test_restore_never_writes_through_a_symlink(place: Path) -> None:
    """Not even if the command has put a link where a file is restored."""
    furnish(place)
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
    assert briefly(guard.restore()) == [
        f"{place}/.git/hooks is protected: a link was put at {place}/.git, and has been removed."
    ]
    assert not os.path.lexists(place / ".git")
    assert (place / "evil" / "hooks").is_dir(), "what it led to is left alone"


def test_parent_replaced_by_a_symlink_is_not_followed(place: Path) -> None:
    (place / ".git" / "hooks").mkdir(parents=True)
    guard = PathSnapshot([f"{place}/.git/hooks"], [str(place)])
    (place / ".git").rename(place / "away")
    (place / "evil" / "hooks").mkdir(parents=True)
    (place / ".git").symlink_to("evil")
    (said,) = guard.restore()
    assert said.startswith(f"{place}/.git/hooks is protected, was removed, and could not be put back: ")
    assert os.listdir(place / "evil" / "hooks") == []
    assert not os.path.lexists(place / ".git"), "the false one does not stay"


def test_change_to_a_file_too_large_to_record_is_only_reported(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "_MAX_CONTENT_BYTES", 1000)
    (place / "small").write_bytes(b"s" * 600)
    (place / "large").write_bytes(b"l" * 600)
    guard = PathSnapshot([f"{place}/small", f"{place}/large"], [str(place)])
    (place / "small").write_bytes(b"changed")
    (place / "large").write_bytes(b"changed")
    assert briefly(guard.restore()) == [
        f"{place}/small is protected: it was changed, and has been put back.",
        f"{place}/large is protected, was changed, and could not be put back: it was too large for the snapshot.",
    ]
    assert state(place)["large"][2] == b"changed"
    assert state(place)["small"][2] == b"s" * 600


def test_missing_parent_is_reported(place: Path) -> None:
    (place / "a").mkdir()
    (place / "a" / "kept").write_text("x")
    guard = PathSnapshot([f"{place}/a/kept"], [str(place)])
    shutil.rmtree(place / "a")
    assert briefly(guard.restore()) == [
        f"{place}/a/kept is protected, was removed, and could not be put back: No such file or directory."
    ]


def test_restore_leaves_no_temporary_files(place: Path) -> None:
    furnish(place)
    before = set(os.listdir(os.fsencode(place)))
    guard = PathSnapshot([f"{place}/hooks"], [str(place)])
    (place / "hooks" / "run").write_text("evil")
    guard.restore()
    assert set(os.listdir(os.fsencode(place))) - {os.fsencode(name) for name in quarantined_names(place)} == before


def test_tree_deeper_than_path_max_is_moved_away(place: Path) -> None:
    guard = PathSnapshot([f"{place}/.claude"], [str(place)])
    fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    for name in (".claude", *["d" * 200] * 60):
        os.mkdir(name, dir_fd=fd)
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    assert briefly(guard.restore()) == [f"{place}/.claude is protected: it was made, and has been removed."]
    (kept,) = os.listdir(place)
    assert [kept] == quarantined_names(place)
    remove_tree(os.fsencode(place / kept))  # pytest could not remove it


def test_tree_deeper_than_the_recursion_limit_is_moved_away(place: Path) -> None:
    guard = PathSnapshot([f"{place}/.claude"], [str(place)])
    fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    for name in (".claude", *["d"] * 1500):
        os.mkdir(name, dir_fd=fd)
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    assert briefly(guard.restore()) == [f"{place}/.claude is protected: it was made, and has been removed."]
    (kept,) = os.listdir(place)
    assert [kept] == quarantined_names(place)
    remove_tree(os.fsencode(place / kept))  # pytest could not remove it


def test_directory_without_permissions_is_opened_and_restored(place: Path) -> None:
    furnish(place)
    before = state(place)
    guard = PathSnapshot([f"{place}/hooks"], [str(place)])
    (place / "hooks" / "run").write_text("evil")
    (place / "hooks").chmod(0)
    assert briefly(guard.restore()) == [f"{place}/hooks is protected: it was changed, and has been put back."]
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


def test_snapshot_without_paths_restores_nothing() -> None:
    assert PathSnapshot([], []).restore() == []


@pytest.mark.parametrize("name", ["run", "deep/deeper/leaf"])
def test_edit_that_keeps_size_and_mtime_is_undone(place: Path, name: str) -> None:
    furnish(place)
    before = state(place)
    guard = PathSnapshot([f"{place}/hooks"], [str(place)])
    path = place / "hooks" / name
    status = path.stat()
    with path.open("r+b") as file:
        file.write(b"evil")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert briefly(guard.restore()) == [f"{place}/hooks is protected: it was changed, and has been put back."]
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


def test_changed_timestamp_alone_is_not_reported(place: Path) -> None:
    furnish(place)
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
    assert (place / ".x" / "hooks").is_dir(), "what it led to is left alone"


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


def test_change_to_an_oversized_directory_is_only_reported(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "_MAX_ENTRIES", 10)
    (place / "large").mkdir()
    for number in range(20):
        (place / "large" / str(number)).touch()
    guard = PathSnapshot([f"{place}/large"], [str(place)])
    assert guard.restore() == []
    (place / "large" / "new").touch()
    assert briefly(guard.restore()) == [
        f"{place}/large is protected, was changed, and could not be put back: it was too large for the snapshot."
    ]


def test_directory_filled_beyond_the_bound_is_restored(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "_MAX_ENTRIES", 100)
    furnish(place)
    before = state(place)
    guard = PathSnapshot([f"{place}/hooks", f"{place}/none"], [str(place)])
    for number in range(200):
        (place / "hooks" / "deep" / str(number)).touch()
    (place / "none").mkdir()
    for number in range(200):
        (place / "none" / str(number)).touch()
    assert briefly(guard.restore()) == [
        f"{place}/hooks is protected: it was changed, and has been put back.",
        f"{place}/none is protected: it was made, and has been removed.",
    ]
    assert state(place) == before


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
