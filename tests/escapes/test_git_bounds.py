"""Git directories with more entries than nacre examines: a command cannot hide a link among them."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from nacre.protected_paths import directory_cache, git_directories
from nacre.result import Exited
from tests.escapes.test_git_links import links_below
from tests.support.confined import PYTHON, confined, run
from tests.support.repositories import git, repository

pytestmark = [pytest.mark.req("P-008"), *confined]

MOVED = "than nacre inspects"


def links_in_use(directory: Path) -> list[Path]:
    """Return the links that git could follow."""
    own = [each for each in directory.iterdir() if not each.name.endswith(".nacre-quarantined")]
    return [path for each in own for path in [each, *each.rglob("*")] if path.is_symlink()]


async def test_link_is_found_among_two_thousand_git_directories(place: Path, mounts: bool) -> None:
    repo = repository(place / "repo")
    outside = shlex.quote(str(place.parent / "outside"))
    result = await run(f"mkdir .git/x{{1..2100}}; ln -sf {outside} .git/logs/refs/heads/main", repo)
    assert result.outcome == Exited(0), result
    git(repo, "commit", "-q", "--allow-empty", "-m", "from the user")
    assert (place.parent / "outside").read_text() == "precious"


async def test_link_is_found_among_sixty_thousand_git_files(place: Path, mounts: bool) -> None:
    repo = repository(place / "repo")
    outside = shlex.quote(str(place.parent / "outside"))
    links = "".join(f"ln -sf {outside} .git/{name}; " for name in ("COMMIT_EDITMSG", "FETCH_HEAD", "ORIG_HEAD"))
    files = shlex.quote("for i in range(60_000): open(f'.git/f{i}', 'w').close()")
    result = await run(f"{links} {PYTHON} -c {files}; for i in {{1..40}}; do ln -sf x .git/a$i; done", repo)
    assert result.outcome == Exited(0), result
    assert links_below(repo / ".git") == []


@pytest.mark.parametrize("where", [".git/x", ".git/refs/heads/x", ".git/logs/refs/heads/x", ".git/logs/y/x"])
async def test_new_git_directories_beyond_the_bound_are_moved_away(
    place: Path, mounts: bool, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(git_directories, "DIRECTORIES_MAX", 30)
    repo = repository(place / "repo")
    git(repo, "branch", "topic/one")
    outside = str(place.parent / "outside")
    plant = f"mkdir -p {where}{{1..99}}; for each in {where}*; do ln -s {shlex.quote(outside)} $each/link; done"
    result = await run(f"{plant}; ln -sf {shlex.quote(outside)} .git/logs/refs/heads/topic/one", repo)
    assert result.outcome == Exited(0), result
    assert [note for note in result.notes if MOVED in note]
    assert links_in_use(repo / ".git") == []
    git(repo, "checkout", "-q", "topic/one")
    git(repo, "commit", "-q", "--allow-empty", "-m", "from the user")
    assert (place.parent / "outside").read_text() == "precious"
    again = await run(f"ln -sf {shlex.quote(outside)} .git/logs/refs/heads/topic/one", repo)
    assert [note for note in again.notes if "git would write there" in note]
    assert not [note for note in again.notes if MOVED in note]


async def test_new_git_links_beyond_the_bound_are_moved_away(
    place: Path, mounts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directory_cache, "_LINKS_MAX", 10)
    repo = repository(place / "repo")
    (repo / ".git" / "mine").symlink_to("/etc/hostname")
    outside = shlex.quote(str(place.parent / "outside"))
    many = f"for i in {{1..60}}; do ln -s {outside} .git/x$i; ln -s {outside} .git/logs/refs/heads/x$i; done"
    result = await run(
        f"{many}; mkdir .git/new; ln -s {outside} .git/new/x; ln -sf {outside} .git/COMMIT_EDITMSG", repo
    )
    assert result.outcome == Exited(0), result
    assert [note for note in result.notes if MOVED in note]
    assert links_in_use(repo / ".git") == [repo / ".git" / "mine"]
    assert git(repo, "log", "--format=%s") == "first"


async def test_read_only_git_directories_beyond_the_bound_are_moved_away(
    place: Path, mounts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_directories, "DIRECTORIES_MAX", 30)
    repo = repository(place / "repo")
    result = await run("mkdir -m 555 .git/logs/refs/heads/x{1..99}", repo)
    assert not [note for note in result.notes if "could be moved" in note]
    assert len(list((repo / ".git/logs/refs/heads").iterdir())) < 99


async def test_git_path_too_long_to_examine_is_moved_away(place: Path, mounts: bool) -> None:
    repo = repository(place / "repo")
    name = "n" * 200
    outside = shlex.quote(str(place.parent / "outside"))
    plant = f"cd .git/logs/refs/heads; for i in {{1..24}}; do mkdir {name}; cd {name}; done; ln -s {outside} link"
    result = await run(plant, repo)
    assert result.outcome == Exited(0), result
    assert [note for note in result.notes if MOVED in note]
    assert not (repo / ".git/logs/refs/heads" / name).exists()


async def test_repository_already_beyond_the_bound_is_left_alone(
    place: Path, mounts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_directories, "DIRECTORIES_MAX", 30)
    monkeypatch.setattr(directory_cache, "_LINKS_MAX", 10)
    repo = repository(place / "repo")
    for number in range(80):
        git(repo, "update-ref", f"refs/heads/u{number}/topic", "HEAD")
        (repo / ".git" / f"link{number}").symlink_to("nowhere")
    result = await run("git checkout -q -b new/topic && git commit -q --allow-empty -m more", repo)
    assert (result.outcome, result.notes) == (Exited(0), ())
    assert len(links_below(repo / ".git")) == 80
    assert len(git(repo, "branch", "--list").splitlines()) == 82
