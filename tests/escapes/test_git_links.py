"""Dangerous things in git directories: links, rebase steps and nested repositories that run programs are undone."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from nacre.result import Exited
from tests.support.confined import confined, run
from tests.support.repositories import git, repository, submodule, worktree

pytestmark = [pytest.mark.req("P-008"), *confined]

LINKS = {
    "COMMIT_EDITMSG": "ln -sf {target} .git/COMMIT_EDITMSG; echo text > .git/SQUASH_MSG",
    "FETCH_HEAD": "ln -sf {target} .git/FETCH_HEAD",
    "ORIG_HEAD": "ln -sf {target} .git/ORIG_HEAD",
    "MERGE_MSG": "ln -sf {target} .git/MERGE_MSG",
    "logs/HEAD": "ln -sf {target} .git/logs/HEAD",
    "index": "ln -sf {target} .git/index",
    "refs/heads/other": "ln -sf {target} .git/refs/heads/other",
    "packed-refs": "ln -sf {target} .git/packed-refs",
    "info/exclude": "mkdir -p .git/info; ln -sf {target} .git/info/exclude",
    "objects/info/alternates": "mkdir -p .git/objects/info; ln -sf {target} .git/objects/info/alternates",
    "deep": "mkdir -p .git/a/b/c; ln -s {target} .git/a/b/c/deep",
    "logs": "rm -rf .git/logs; ln -s {target} .git/logs",
    "config through a link": "ln -sf config .git/COMMIT_EDITMSG",
    "a hard link": "echo text > .git/other; ln -f .git/other .git/COMMIT_EDITMSG",
}


def links_below(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_symlink()]


def is_armed(tree: Path, place: Path) -> bool:
    with contextlib.suppress(subprocess.CalledProcessError):
        git(tree, "status")
    return (place / "PWNED").exists()


@pytest.mark.parametrize("name", LINKS)
async def test_new_link_in_a_git_directory_is_removed(place: Path, mounts: bool, name: str) -> None:
    repo = repository(place / "repo")
    result = await run(LINKS[name].format(target=shlex.quote(str(place.parent / "outside"))), repo)
    assert result.outcome == Exited(0), result
    assert links_below(repo / ".git") == []
    assert [note for note in result.notes if "git would write there" in note]
    (repo / "file").write_text("two\n")
    with contextlib.suppress(subprocess.CalledProcessError):  # without an index it has nothing to commit
        git(repo, "commit", "-q", "-a", "-m", "from the user")
    assert (place.parent / "outside").read_text() == "precious"
    assert "from the user" not in (repo / ".git" / "config").read_text()


async def test_new_link_in_a_worktree_or_submodule_git_directory_is_removed(place: Path, mounts: bool) -> None:
    repo, other = repository(place / "repo"), repository(place / "other")
    tree = worktree(repo, place / "tree")
    submodule(repo, other, "inner")
    await run("for at in worktrees/tree modules/inner; do ln -sf ~/.bashrc .git/$at/COMMIT_EDITMSG; done", repo)
    assert links_below(repo / ".git") == []
    await run(f"ln -sf ~/.bashrc {shlex.quote(str(repo / '.git/worktrees/tree/COMMIT_EDITMSG'))}", tree)
    assert links_below(repo / ".git") == []


async def test_head_replaced_by_a_link_is_restored(place: Path, mounts: bool) -> None:
    repo = repository(place / "repo")
    before = (repo / ".git" / "HEAD").read_bytes()
    await run("ln -sf ~/.bashrc .git/HEAD", repo)
    assert (repo / ".git" / "HEAD").read_bytes() == before
    assert not (repo / ".git" / "HEAD").is_symlink()


async def test_existing_links_in_a_git_directory_stay(place: Path, mounts: bool) -> None:
    repo = repository(place / "repo")
    (repo / ".git" / "mine").symlink_to("/etc/hostname")
    (repo / ".git" / "HEAD").unlink()
    (repo / ".git" / "HEAD").symlink_to("refs/heads/main")
    result = await run("git commit -q --allow-empty -m more", repo)
    assert (result.ok, result.notes) == (True, ())
    assert os.readlink(repo / ".git" / "mine") == "/etc/hostname"


# a rebase in progress


async def test_planted_rebase_steps_that_run_programs_are_removed(place: Path, mounts: bool) -> None:
    repo = repository(place / "repo")
    evil = f"touch {shlex.quote(str(place))}/PWNED"
    plant = (
        "mkdir .git/rebase-merge; cd .git/rebase-merge; git rev-parse HEAD | tee onto orig-head > /dev/null;"
        f"echo refs/heads/main > head-name; echo 1 > msgnum; echo 2 > end; touch interactive done;"
        f"printf '%s\\n' {shlex.quote(f'exec {evil}')} {shlex.quote(f'  x {evil}')} noop > git-rebase-todo"
    )
    result = await run(plant, repo)
    assert result.outcome == Exited(0), result
    assert [note for note in result.notes if "steps that run programs" in note]
    assert (repo / ".git" / "rebase-merge" / "git-rebase-todo").read_text() == "noop\n"
    with contextlib.suppress(subprocess.CalledProcessError):
        git(repo, "rebase", "--continue")
    assert not (place / "PWNED").exists()


async def test_steps_of_the_users_rebase_are_restored(place: Path, mounts: bool) -> None:
    repo = repository(place / "repo")
    (repo / ".git" / "rebase-merge").mkdir()
    steps = repo / ".git" / "rebase-merge" / "git-rebase-todo"
    steps.write_text("exec make test\npick 1234\n")
    result = await run("git status --short; echo 'exec evil' >> .git/rebase-merge/git-rebase-todo", repo)
    assert steps.read_text() == "exec make test\npick 1234\n"
    assert len(result.notes) == 1


# nested repositories


def run_evil(place: Path) -> str:
    return shlex.quote(f"touch {shlex.quote(str(place))}/PWNED;false")


COMMIT = "git -c user.name=A -c user.email=a@example.org commit -q --allow-empty -m first"
NESTED = {
    "fsmonitor": "git init -q inner && cd inner && {commit} && git config core.fsmonitor {evil}",
    "included": "git init -q inner && cd inner && {commit} && git config -f x core.fsmonitor {evil} "
    "&& git config include.path ../x",
    "a directory of another name": "git init -q inner && cd inner && {commit} && mv .git ../x "
    "&& echo 'gitdir: ../x' > .git && git config core.fsmonitor {evil}",
    "a link": "git init -q inner && cd inner && {commit} && mv .git ../x && ln -s ../x .git "
    "&& git config core.fsmonitor {evil}",
    "a common directory": "git init -q inner && cd inner && {commit} && cp -r .git ../x "
    "&& git config -f ../x/config core.fsmonitor {evil} && echo ../../x > .git/commondir",
    "bare": "git init -q --bare inner && cd inner && git config core.bare false && mkdir tree "
    '&& git config core.worktree "$PWD/tree" && git config core.fsmonitor {evil}',
    "moved there": "git init -q x && cd x && {commit} && git config core.fsmonitor {evil} && cd .. && mv x inner",
}


@pytest.mark.parametrize("name", NESTED)
async def test_nested_repository_that_runs_programs_is_disarmed(place: Path, mounts: bool, name: str) -> None:
    repo = repository(place / "repo")
    plant = NESTED[name].format(commit=COMMIT, evil=run_evil(place))
    result = await run(plant, repo)
    assert result.outcome == Exited(0), result
    assert [note for note in result.notes if "would make git run programs" in note]
    assert not is_armed(repo / "inner", place)


async def test_nested_repository_runs_programs_without_protection(place: Path) -> None:
    repo = repository(place / "repo")
    plant = NESTED["fsmonitor"].format(commit=COMMIT, evil=run_evil(place))
    subprocess.run(["bash", "-c", plant], cwd=repo, check=True)
    assert is_armed(repo / "inner", place)


async def test_deep_nested_repository_named_in_the_index_is_disarmed(place: Path, mounts: bool) -> None:
    repo = repository(place / "repo")
    for number in range(250):
        (repo / f"d{number}").mkdir()
    deep = "d1/" * 12 + "inner"
    plant = f"git init -q {deep} && (cd {deep} && {COMMIT}) && git add {deep}"
    assert (await run(plant, repo)).ok
    assert (repo / deep / ".git" / "config").exists()
    result = await run(f"cd {deep} && git config core.fsmonitor {run_evil(place)}", repo)
    assert [note for note in result.notes if "would make git run programs" in note]
    assert not is_armed(repo, place)


async def test_nested_repository_completed_by_a_second_command_is_disarmed(place: Path, mounts: bool) -> None:
    repo = repository(place / "repo")
    first = f"git init -q inner && cd inner && {COMMIT} && git config core.fsmonitor {run_evil(place)}"
    assert (await run(f"{first} && mv .git x && mv x/HEAD x/H", repo)).ok
    assert (await run("cd inner && mv x/H x/HEAD && mv x .git", repo)).ok
    assert not is_armed(repo / "inner", place)


async def test_hook_in_a_nested_repository_is_renamed(place: Path, mounts: bool) -> None:
    repo = repository(place / "repo")
    hook = f"printf '#!/bin/sh\\ntouch %s/PWNED\\n' {shlex.quote(str(place))} > .git/hooks/post-commit"
    hook = f"mkdir -p .git/hooks; {hook}; chmod +x .git/hooks/post-commit"
    result = await run(f"git init -q inner && cd inner && {{ {hook}; }}", repo)
    assert len(result.notes) == 1
    git(repo / "inner", "commit", "-q", "--allow-empty", "-m", "x")
    assert not (place / "PWNED").exists()


# ordinary work


async def test_cloning_and_working_in_the_clone_leaves_no_notes(place: Path, mounts: bool) -> None:
    repo, other = repository(place / "repo"), repository(place / "other")
    command = (
        f"git clone -q {shlex.quote(str(other))} inner && cd inner && git config user.name B"
        " && git config user.email b@example.org"
        " && git checkout -q -b topic && echo two > file && git commit -q -a -m two && git rebase -q main"
        " && git worktree add -q ../tree && git stash list && git log --oneline | wc -l"
    )
    result = await run(command, repo)
    assert (result.outcome, result.stdout, result.notes) == (Exited(0), "2\n", ())
    assert git(repo / "inner", "log", "-1", "--format=%an") == "B"


async def test_nested_repository_of_the_user_keeps_its_configured_programs(place: Path, mounts: bool) -> None:
    repo = repository(place / "repo")
    inner = repository(repo / "inner")
    git(inner, "config", "core.pager", "less -R")
    (inner / ".git" / "hooks" / "pre-push").write_text("#!/bin/sh\n")
    (inner / ".git" / "hooks" / "pre-push").chmod(0o755)
    result = await run("cd inner && git config user.name B && git commit -q --allow-empty -m more", repo)
    assert (result.ok, result.notes) == (True, ())
    assert git(inner, "config", "core.pager") == "less -R"


async def test_repository_made_by_the_user_between_two_runs_is_kept(place: Path, mounts: bool) -> None:
    repo = repository(place / "repo")
    assert (await run("true", repo)).ok
    inner = repository(repo / "inner")
    git(inner, "config", "core.pager", "less -R")
    result = await run("git status --short", repo)
    assert git(inner, "config", "core.pager") == "less -R"
    assert result.ok


async def test_submodule_can_be_added(place: Path, mounts: bool) -> None:
    repo, other = repository(place / "repo"), repository(place / "other")
    add = f"git -c protocol.file.allow=always submodule --quiet add {shlex.quote(str(other))} inner"
    result = await run(add, repo, unprotected=(".gitmodules", ".git"))
    assert (result.outcome, result.notes) == (Exited(0), ())
    assert (repo / "inner" / "file").exists()


async def test_rebase_conflict_is_left_to_be_resolved(place: Path, mounts: bool) -> None:
    repo = repository(place / "repo")
    command = (
        "git checkout -q -b topic && echo a > file && git commit -q -a -m a && git checkout -q main && echo b > file"
        " && git commit -q -a -m b && git checkout -q topic; git rebase -q main; test -d .git/rebase-merge"
    )
    result = await run(command, repo)
    assert result.outcome == Exited(0), result
    assert not [note for note in result.notes if "removed" in note]
    git(repo, "rebase", "--abort")


async def test_nested_repository_of_the_user_can_be_moved(place: Path, mounts: bool) -> None:
    repo = repository(place / "repo")
    git(repository(repo / "inner"), "config", "core.pager", "less -R")
    result = await run("mkdir vendor && mv inner vendor/", repo)
    assert (result.ok, result.notes) == (True, ())
    assert git(repo / "vendor" / "inner", "config", "core.pager") == "less -R"


async def test_new_worktree_leaves_the_users_configuration_alone(place: Path, mounts: bool) -> None:
    repo = repository(place / "repo")
    inner = repository(repo / "inner")
    for each in (repo, inner):
        git(each, "config", "core.pager", "less -R")
    result = await run("git worktree add -q tree && cd inner && git worktree add -q ../other", repo)
    assert (result.outcome, result.notes) == (Exited(0), ())
    assert [git(each, "config", "core.pager") for each in (repo, inner)] == ["less -R"] * 2


async def test_linked_hooks_directory_does_not_stay(place: Path, mounts: bool) -> None:
    repo = repository(place / "repo")
    plant = "git init -q inner; rm -rf inner/.git/hooks; mkdir evil; ln -s ../../evil inner/.git/hooks"
    result = await run(plant, repo)
    assert len(result.notes) == 1
    assert not os.path.lexists(repo / "inner" / ".git" / "hooks")


async def test_gitdir_pointer_to_dev_shm_runs_no_program(place: Path, mounts: bool) -> None:
    """Without mounts, /dev/shm is shared and outlives the run."""
    repo = repository(place / "repo")
    shared = f"/dev/shm/nacre-test-{os.urandom(6).hex()}"
    plant = f"git init -q {shared} && git -C {shared} config core.fsmonitor {run_evil(place)} && mkdir inner"
    try:
        result = await run(f"{plant} && echo 'gitdir: {shared}/.git' > inner/.git", repo)
        assert result.outcome == Exited(0), result
        assert not is_armed(repo / "inner", place)
        assert os.path.lexists(repo / "inner" / ".git") == mounts, (
            "with mounts the pointer stays, since its target is gone"
        )
    finally:
        subprocess.run(["rm", "-rf", shared], check=True)


@pytest.mark.parametrize("name", ["hooks", "objects"])
async def test_branch_named_like_a_git_directory_hides_no_link(place: Path, mounts: bool, name: str) -> None:
    repo = repository(place / "repo")
    log = f".git/logs/refs/heads/{name}"
    plant = f"git checkout -q -b {name}/x && ln -sf {shlex.quote(str(place.parent / 'outside'))} {log}/x"
    hard = f"echo text > .git/other && ln .git/other {log}/{'a' * 38}"
    result = await run(f"{plant} && {hard}", repo)
    assert result.outcome == Exited(0), result
    assert links_below(repo / ".git") == []
    assert [path for path in (repo / log).iterdir() if path.stat().st_nlink > 1] == []
    git(repo, "commit", "-q", "--allow-empty", "-m", "from the user")
    assert (place.parent / "outside").read_text() == "precious"
