"""Protected files of a workspace stay unchanged: hooks, configuration, and all that could redirect git."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import subprocess
import threading
from pathlib import Path

import pytest

from nacre import Bash, Result, ToolContext
from nacre.protected_paths import Protection
from nacre.result import Chunk, Exited
from nacre.types import ProtectedPaths
from tests.support.confined import HERE, confined, run, try_all
from tests.support.repositories import git, repository, worktree
from tests.support.waiting import turn_loop, until

pytestmark = [pytest.mark.req("P-008"), *confined]


def has_note(result: Result, sentence: str) -> bool:
    """Return whether a note begins with this sentence. It may continue with the place of the other version."""
    return any(note.startswith(sentence) for note in result.notes)


# protected files


def make_repository(place: Path) -> Path:
    """Create a repository in which every protected file exists."""
    repo = repository(place / "repo")
    for name in (".claude", ".nacre", "kept.d"):
        (repo / name).mkdir()
    (repo / ".claude" / "settings.json").write_text("{}")
    for name in (".mcp.json", "kept", ".git/config.worktree"):
        (repo / name).write_text("")
    (repo / ".git" / "commondir").write_text(".\n")
    return repo


PROTECTED = {
    "hook": "echo x > .git/hooks/pre-commit",
    "hooks-moved": "mv .git/hooks .git/away",
    "hooks-replaced": "rm -rf .git/hooks; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit",
    "config-appended": "printf '[core]\\n\\tpager = evil\\n' >> .git/config",
    "config-mode": "chmod 777 .git/config",
    "config-worktree": "git config core.worktree /",
    "config-remote": "git config remote.origin.url https://evil.example",
    "config-branch": "git config branch.main.remote https://evil.example",
    "config-by-git": "git config core.fsmonitor evil",
    "config-replaced": "cp .git/config c; mv c .git/config",
    "config-linked": "ln -f file .git/config",
    "orders": "echo x > .claude/settings.json",
    "orders-made": "echo x > .claude/more",
    "orders-moved": "mv .claude c",
    "mcp": "echo x > .mcp.json",
    "named": "echo x > kept",
    "named-mode": "chmod 777 kept",
    "named-directory": "echo x > kept.d/x",
}


def contents(repo: Path) -> dict[str, tuple[int, bytes]]:
    found = {}
    for name in (
        ".git/hooks",
        ".git/config",
        ".git/config.worktree",
        ".git/commondir",
        ".claude",
        ".nacre",
        ".mcp.json",
        "kept",
        "kept.d",
    ):
        for path in (repo / name, *(repo / name).rglob("*")):
            found[str(path)] = (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
    return found


@pytest.mark.parametrize("deed", PROTECTED)
async def test_protected_file_stays_unchanged(place: Path, deed: str) -> None:
    repo = make_repository(place)
    before = contents(repo)
    through, result = await try_all({deed: PROTECTED[deed]}, repo, protected=("kept", repo / "kept.d"))
    assert contents(repo) == before
    if HERE.mounts:
        assert (through, result.notes) == ([], ())
        assert "protected-existing" in result.enforced
    else:
        assert "protected-existing" not in result.enforced
        assert all(" is protected: it was " in note for note in result.notes)
        assert all("and has been put back." in note for note in result.notes)
        assert (through == [deed]) == (result.notes != ()) or deed in ("config-linked", "config-replaced")


MADE = {
    ".claude": "mkdir .claude; echo x > .claude/settings.json",
    ".nacre": "echo x > .nacre",
    ".mcp.json": "echo x > .mcp.json",
    ".git/config": "git init -q .",
    "later": "echo x > later",
}


@pytest.mark.parametrize("path", MADE)
async def test_protected_path_that_did_not_exist_is_removed_if_created(place: Path, path: str) -> None:
    result = await run(MADE[path], place, protected=("later",))
    assert not os.path.lexists(place / path)
    assert "protected" not in result.enforced
    assert has_note(result, f"{place / path} is protected: it was made, and has been removed.")


async def test_symlink_put_at_dot_git_is_removed(place: Path) -> None:
    result = await run("mkdir -p evil/hooks; echo x > evil/hooks/pre-commit; ln -s evil .git", place)
    assert not os.path.lexists(place / ".git")
    assert [note for note in result.notes if "a link was put at" in note]


async def test_moving_dot_git_away_installs_no_hook(place: Path) -> None:
    repo = make_repository(place)
    move = "mv .git away && mkdir .git && cp -r away/. .git && echo x > .git/hooks/pre-commit"
    through, result = await try_all({"moved": move}, repo)
    assert not (repo / ".git" / "hooks" / "pre-commit").exists()
    if HERE.mounts:
        assert (through, result.notes) == ([], ())
    else:
        assert [note for note in result.notes if note.startswith(f"{repo}/.git/hooks is protected")]


def run_evil(place: Path) -> str:
    """Return a shell word with the command that git would run."""
    return shlex.quote(f"touch {place}/PWNED;false")


def is_armed(tree: Path, place: Path) -> bool:
    """Return whether the user's next `git status` there runs what a command has left."""
    with contextlib.suppress(subprocess.CalledProcessError):
        git(tree, "status")
    return (place / "PWNED").exists()


def make_other_repository(repo: str, place: Path) -> str:
    """Return shell text that creates a repository with all that git needs, and a program to run."""
    copy = f"mkdir evil && cp -r {repo}/.git/objects {repo}/.git/refs {repo}/.git/config evil/"
    return f"{copy} && git config -f evil/config core.fsmonitor {run_evil(place)}"


async def test_git_commondir_cannot_be_redirected(place: Path) -> None:
    repo = repository(place / "repo")
    result = await run(f"{make_other_repository('.', place)} && echo ../evil > .git/commondir", repo)
    assert result.outcome == Exited(0)
    assert has_note(result, f"{repo}/.git/commondir is protected: it was made, and has been removed.")
    assert not is_armed(repo, place)


@pytest.mark.parametrize("way", ["straight", "moved"])
async def test_git_commondir_of_a_linked_worktree_cannot_be_redirected(place: Path, way: str) -> None:
    repo = repository(place / "repo")
    tree = worktree(repo, place / "tree")
    lead = f"echo {repo}/evil > .git/worktrees/tree/commondir"
    if way == "moved":
        lead = f"mv .git/worktrees .git/away; cp -r .git/away .git/worktrees; {lead}"
    await run(f"{make_other_repository('.', place)}; {lead}", repo)
    assert not is_armed(tree, place)


async def test_git_of_another_writable_root_cannot_be_redirected(place: Path) -> None:
    repo = repository(place / "repo")
    here = place / "here"
    here.mkdir()
    deeds = {
        "config": f"git config -f ../repo/.git/config core.fsmonitor {run_evil(place)}",
        "commondir": f"{make_other_repository('../repo', place)} && echo {here}/evil > ../repo/.git/commondir",
        "orders": "mkdir ../repo/.claude",
    }
    await try_all(deeds, here, writable=(repo,))
    assert not is_armed(repo, place)
    assert not (repo / ".claude").exists()


async def test_git_of_a_submodule_cannot_be_redirected(place: Path) -> None:
    repo, other = repository(place / "repo"), repository(place / "other")
    git(repo, "submodule", "--quiet", "add", str(other), "inner")
    copy = f"cp -r .git/modules/inner x && git config -f x/config core.worktree {repo}/inner"
    arm = f"git config -f x/config core.fsmonitor {run_evil(place)} && echo gitdir: {repo}/x > inner/.git"
    await run(f"{copy} && {arm}", repo)
    assert not is_armed(repo, place)


async def test_git_config_created_in_a_subdirectory_is_removed(place: Path) -> None:
    repo = repository(place / "repo")
    (repo / "src").mkdir()
    result = await run(
        f"git init -q . && git config core.fsmonitor {run_evil(place)}; touch .git/hooks/x", repo / "src"
    )
    assert has_note(result, f"{repo}/src/.git/config is protected: it was made, and has been removed.")
    assert not is_armed(repo / "src", place)


async def test_protected_file_created_on_sigterm_is_removed_on_stream_close(place: Path) -> None:
    """It gets SIGTERM and has its grace period to react: only then is anything restored."""
    trap = "trap 'sleep .3; mkdir -p .claude; echo x > .claude/settings.json; touch done; exit' TERM"
    stream = Bash().stream(f"{trap}; echo ready; sleep 60 & wait", ToolContext(access="workspace", working_dir=place))
    async with contextlib.aclosing(stream):
        async for event in stream:
            if isinstance(event, Chunk):
                break
    assert sorted(os.listdir(place))[1:] == ["done"]
    assert not (place / ".claude").exists()


async def test_protected_file_created_on_sigterm_is_removed_on_cancellation(place: Path) -> None:
    trap = "trap 'sleep .3; mkdir .claude; touch done; exit' TERM"
    task = asyncio.create_task(run(f"{trap}; touch ready; sleep 60 & wait", place))
    await until((place / "ready").exists, "the trap")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(os.listdir(place)) == ["done", "ready"]


async def test_protected_file_created_on_sigterm_is_removed_on_repeated_cancels(place: Path) -> None:
    """Some frameworks cancel repeatedly until the task has ended."""
    trap = "trap 'sleep .3; mkdir .claude; touch done; exit' TERM"
    task = asyncio.create_task(run(f"{trap}; touch ready; sleep 60 & wait", place))
    await until((place / "ready").exists, "the trap")
    while not task.done():
        task.cancel()
        await turn_loop()
    await until(lambda: sorted(os.listdir(place)) == ["done", "ready"], "what it did to be undone")


async def test_protected_paths_are_compared_outside_the_event_loop_thread(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []

    class Watched(Protection):
        def __init__(self, paths: ProtectedPaths) -> None:
            threads.append(threading.get_ident())
            super().__init__(paths)

        def restore(self, *, becomes_task: bool = False) -> list[str]:
            threads.append(threading.get_ident())
            return super().restore(becomes_task=becomes_task)

    monkeypatch.setattr("nacre.protected_paths.Protection", Watched)
    assert (await run("mkdir .claude", place)).ok
    assert os.listdir(place) == []
    assert len(threads) == 2
    assert threading.get_ident() not in threads


async def test_dot_git_turned_into_a_pointer_to_itself_runs_nothing(place: Path) -> None:
    repo = repository(place / "repo")
    command = f"mv .git .x && echo gitdir: ./.x > .git && git config -f .x/config core.fsmonitor {run_evil(place)}"
    through, _ = await try_all({"pointer": command}, repo)
    assert not is_armed(repo, place)
    assert (repo / ".git").is_dir() == (through == []) == HERE.mounts


async def test_protection_holds_in_a_standby_shell_older_than_the_protected_file(place: Path) -> None:
    """git replaces its configuration file at each change: a mount on the old file would go with that file."""
    repo = make_repository(place)
    for _ in range(3):
        assert (await run("true", repo)).ok
        git(repo, "config", "user.name", "Somebody")
        before = contents(repo)
        through, result = await try_all({"config": "printf '[core]\\n\\tpager = evil\\n' >> .git/config"}, repo)
        assert contents(repo) == before
        assert (through == []) == ("protected-existing" in result.enforced) == (result.notes == ())


async def test_protected_directory_that_is_a_symlink_stays_a_symlink(place: Path) -> None:
    (place / "orders").mkdir()
    (place / "orders" / "settings.json").write_text("{}")
    (place / ".claude").symlink_to("orders")
    through, result = await try_all(
        {"link": "rm .claude; mkdir .claude", "target": "echo x > orders/settings.json"}, place
    )
    assert os.readlink(place / ".claude") == "orders"
    assert (place / "orders" / "settings.json").read_text() == "{}"
    assert "protected" not in result.enforced
    assert has_note(result, f"{place}/.claude is protected: it was changed, and has been put back.")
    assert ("target" in through) == (not HERE.mounts)


async def test_submodule_config_and_hooks_are_protected_from_the_parent_repository(place: Path) -> None:
    repo, other = repository(place / "repo"), repository(place / "other")
    git(repo, "submodule", "--quiet", "add", str(other), "libs/deep")
    module = repo / ".git" / "modules" / "libs" / "deep"
    before = (module / "config").read_bytes()
    config = f"printf '[core]\\n\\tpager = evil\\n' >> {module}/config"
    await try_all({"config": config, "hook": f"echo x > {module}/hooks/pre-commit"}, repo)
    assert (module / "config").read_bytes() == before
    assert not (module / "hooks" / "pre-commit").exists()
