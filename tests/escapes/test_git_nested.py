"""Nested git directories of a workspace: no planted link or rebase step stays there, however they are hidden."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
from pathlib import Path

import pytest

from nacre.result import Exited
from tests.escapes.test_git_links import COMMIT, LINKS, evil, is_armed, links_below
from tests.support.confined import PYTHON, confined, run
from tests.support.repositories import git, repository, submodule

pytestmark = [pytest.mark.req("P-008"), *confined]

ADD = "git -c advice.addEmbeddedRepo=false add"
DEEP = "/".join(["e"] * 150) + "/inner"
"""A path deeper than the search for repositories goes."""
PLANT = f"git init -q {DEEP} && (cd {DEEP} && {COMMIT}) && {ADD} {DEEP}"
"""Makes a repository at `DEEP` and stages it as a gitlink."""
REBASE = (
    "mkdir .git/rebase-merge; cd .git/rebase-merge; git rev-parse HEAD | tee onto orig-head > /dev/null;"
    "echo refs/heads/main > head-name; echo 1 > msgnum; echo 2 > end; touch interactive done;"
)


@pytest.fixture
def wide(repo: Path) -> Path:
    """Return a repository with more directories than are searched for repositories."""
    for number in range(140):
        (repo / f"d{number}").mkdir()
    return repo


async def check_disarmed(repo: Path, place: Path, plant: str) -> None:
    """Run `plant`, and set a program for git in the directory that it ends in. Afterwards git in `repo` must not run
    the program."""
    result = await run(f"{plant} && git config core.fsmonitor {evil(place)}", repo)
    assert result.outcome == Exited(0), result
    assert not is_armed(repo, place)


@pytest.fixture(params=["below no repository", "below a repository"])
def workspace(request: pytest.FixtureRequest, place: Path) -> Path:
    """Return a directory that contains the repository `proj`."""
    made = place / "work"
    made.mkdir()
    if request.param == "below a repository":
        repository(made)
    repository(made / "proj")
    return made


@pytest.mark.parametrize("name", LINKS)
async def test_new_link_in_a_nested_git_directory_is_removed(
    place: Path, workspace: Path, mounts: bool, name: str
) -> None:
    plant = LINKS[name].format(target=shlex.quote(str(place.parent / "outside")))
    result = await run(f"cd proj; {plant}", workspace)
    assert result.outcome == Exited(0), result
    assert links_below(workspace / "proj" / ".git") == []
    assert [note for note in result.notes if "git would write there" in note]
    (workspace / "proj" / "file").write_text("two\n")
    with contextlib.suppress(subprocess.CalledProcessError):  # without an index it has nothing to commit
        git(workspace / "proj", "commit", "-q", "-a", "-m", "from the user")
    assert (place.parent / "outside").read_text() == "precious"
    assert "from the user" not in (workspace / "proj" / ".git" / "config").read_text()


async def test_nested_rebase_step_that_runs_a_program_is_removed(place: Path, workspace: Path, mounts: bool) -> None:
    step = shlex.quote(f"exec touch {shlex.quote(str(place))}/PWNED")
    result = await run(f"cd proj; {REBASE} printf '%s\\n' {step} noop > git-rebase-todo", workspace)
    assert [note for note in result.notes if "steps that run programs" in note]
    with contextlib.suppress(subprocess.CalledProcessError):
        git(workspace / "proj", "rebase", "--continue")
    assert not (place / "PWNED").exists()


async def test_links_of_the_user_in_a_nested_git_directory_stay(workspace: Path, mounts: bool) -> None:
    (workspace / "proj" / ".git" / "mine").symlink_to("/etc/hostname")
    result = await run("mkdir vendor && mv proj vendor/ && git -C vendor/proj status --short", workspace)
    assert (result.ok, result.notes) == (True, ())
    assert (workspace / "vendor" / "proj" / ".git" / "mine").is_symlink()


async def test_removing_a_hard_link_to_the_index_keeps_its_content(workspace: Path, mounts: bool) -> None:
    await run("ln proj/.git/index proj/.git/second", workspace)
    assert git(workspace / "proj", "status", "--short") == ""
    assert (workspace / "proj" / ".git" / "index").stat().st_nlink == 1


async def test_link_planted_before_a_repository_exists_is_harmless(place: Path, mounts: bool) -> None:
    outside = shlex.quote(str(place.parent / "outside"))
    await run(f"mkdir -p proj/.git && ln -s {outside} proj/.git/COMMIT_EDITMSG", place)
    repository(place / "proj")
    assert (place.parent / "outside").read_text() == "precious"


# paths in an index


async def test_gitlink_in_a_split_index_is_found(place: Path, wide: Path, mounts: bool) -> None:
    await check_disarmed(wide, place, f"{PLANT} && git update-index --split-index && cd {DEEP}")


async def test_gitlink_with_its_path_in_the_shared_index_is_found(place: Path, wide: Path, mounts: bool) -> None:
    path = wide / DEEP
    path.parent.mkdir(parents=True)
    path.write_text("x")
    git(wide, "add", DEEP)
    git(wide, "update-index", "--split-index")
    await check_disarmed(wide, place, f"rm {DEEP} && {PLANT} && cd {DEEP}")


async def test_gitlink_is_found_among_many_others(place: Path, wide: Path, mounts: bool) -> None:
    dummies = "for i in $(seq 600); do printf '160000 %s 0\\ta%s\\n' $h $i; done | git update-index --index-info"
    plant = f"(mkdir z && cd z && {PLANT}) && h=$(git rev-parse HEAD) && {dummies} && cd z/{DEEP}"
    await check_disarmed(wide, place, plant)


async def test_gitlinks_of_a_nested_repository_are_followed(place: Path, wide: Path, mounts: bool) -> None:
    plant = f"(git init -q sub && cd sub && {PLANT} && {COMMIT}) && {ADD} sub && cd sub/{DEEP}"
    await check_disarmed(wide, place, plant)


async def test_gitlinks_of_a_submodule_are_followed(place: Path, wide: Path, mounts: bool) -> None:
    submodule(wide, repository(place / "other"), "sub")
    await check_disarmed(wide, place, f"cd sub && {PLANT} && cd {DEEP}")


async def test_unreadable_index_is_quarantined(repo: Path, mounts: bool) -> None:
    result = await run("printf 'DIRC\\0\\0\\0\\11\\0\\0\\0\\1 and more than that, and more' > .git/index", repo)
    assert [note for note in result.notes if "an index that is not as git writes it" in note]
    assert not (repo / ".git" / "index").exists()
    assert (repo / ".git" / "index.nacre-quarantined").exists()


def forge_index(path: str) -> str:
    """Return shell text that stages a file under a name that git would refuse."""
    program = (
        "import hashlib; data = bytearray(open('.git/index', 'rb').read());"
        f"new = {path!r}.encode(); at = data.rindex(b'z' * len(new)); data[at:at + len(new)] = new;"
        "data[-20:] = hashlib.sha1(data[:-20]).digest(); open('.git/index', 'wb').write(data)"
    )
    name = "z" * len(path)
    return f"git rm -q --cached file; echo evil > {name}; git add {name}; rm {name}; {PYTHON} -c {shlex.quote(program)}"


@pytest.mark.parametrize("version", ["2", "4"])
@pytest.mark.parametrize("path", ["../../outside", "a/../../../outside", ".git/hooks/post-commit", "absolute"])
async def test_forged_index_does_not_make_git_write_elsewhere(
    place: Path, repo: Path, mounts: bool, path: str, version: str
) -> None:
    git(repo, "update-index", "--index-version", version)
    outside = place.parent / "outside"
    result = await run(forge_index(str(outside) if path == "absolute" else path), repo)
    assert result.outcome == Exited(0), result
    assert [note for note in result.notes if "an index that is not as git writes it" in note]
    with contextlib.suppress(subprocess.CalledProcessError):
        git(repo, "restore", ".")
    assert outside.read_text() == "precious"
    assert not (repo / ".git/hooks/post-commit").exists()


def test_forged_index_makes_git_write_elsewhere_without_protection(place: Path, repo: Path) -> None:
    subprocess.run(["bash", "-c", forge_index("../../outside")], cwd=repo, check=True)
    git(repo, "restore", ".")
    assert (place.parent / "outside").read_text() == "evil\n"


async def test_index_paths_that_resemble_git_names_are_ordinary(repo: Path, mounts: bool) -> None:
    names = "a.git/x x. x../y ... .gitignore .github/x d/.gitattributes ..x/y git/x"
    made = "; ".join(f"mkdir -p $(dirname {name}); echo x > {name}" for name in names.split())
    for version in ("2", "4"):
        result = await run(f"{made}; git add {names}; git update-index --index-version {version}", repo)
        assert (result.outcome, result.notes) == (Exited(0), ())


async def test_gitlink_out_of_the_workspace_changes_nothing_there(place: Path, repo: Path, mounts: bool) -> None:
    other = repository(place / "other")
    git(other, "config", "core.pager", "less -R")
    entry = "h=$(git rev-parse HEAD); printf '160000 %s 0\\txx/other\\n' $h | git update-index --index-info"
    await run(f"{entry}; sed -i 's,xx/other,../other,' .git/index", repo)
    assert git(other, "config", "core.pager") == "less -R"


# state in a git directory that takes effect later


async def test_submodule_prepared_for_checkout_is_disarmed(place: Path, repo: Path, mounts: bool) -> None:
    other = repository(place / "other")
    submodule(repo, other, "inner")
    git(repo, "commit", "-q", "-m", "inner")
    subprocess.run(["rm", "-rf", "inner", ".git/modules/inner"], cwd=repo, check=True)
    git(repo, "config", "--remove-section", "submodule.inner")
    plant = f"git clone -q --bare {shlex.quote(str(other))} .git/modules/inner && cd .git/modules/inner"
    plant = f"{plant} && git config core.fsmonitor {evil(place)} && git config core.bare false"
    cover = "cd .. && echo ref: refs/heads/main > HEAD && mkdir -p objects refs"
    result = await run(f"{plant} && git config core.worktree ../../../inner && {cover}", repo)
    assert result.outcome == Exited(0), result
    with contextlib.suppress(subprocess.CalledProcessError):
        git(repo, "submodule", "update", "--init")
    assert not is_armed(repo, place)


async def test_nested_repository_with_an_outside_worktree_is_disarmed(place: Path, repo: Path, mounts: bool) -> None:
    other = shlex.quote(str(place.parent))
    result = await run(f"git init -q inner && cd inner && {COMMIT} && git config core.worktree {other}", repo)
    assert [note for note in result.notes if "core.worktree, outside the workspace" in note]
    assert not (repo / "inner" / ".git" / "config").exists()


# spellings of a configuration

CONFIGURATIONS = {
    "a comment that ends with a backslash": "[core]\n\tbare = false\n# x \\\n\tfsmonitor = {value}\n",
    "a comment behind a value": "[core]\n\tbare = false # x \\\n\tfsmonitor = {value}\n",
    "a comment behind a header": "[core] ; x \\\n\tfsmonitor = {value}\n",
    "a continued value": '[core]\n\tbare = fal\\\nse\n\tfsmonitor = {value}\n[x "\\""]\n',
    "quotes": '[x]\n\ty = "a # \\\n[core]"\n[core]\n\tfsmonitor = {value}\n',
    "line ends of DOS": "[core]\r\n\tbare = false\r\n\tfsmonitor = {value}\r\n",
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
async def test_setting_is_found_however_the_configuration_is_written(
    place: Path, repo: Path, mounts: bool, name: str
) -> None:
    value = f'"touch {place}/PWNED;false"'
    head = "[core]\n\trepositoryformatversion = 0\n"
    (repo / "x").write_text(head + CONFIGURATIONS[name].format(value=value), newline="")
    result = await run(f"git init -q inner && (cd inner && {COMMIT}) && cp x inner/.git/config", repo)
    assert result.outcome == Exited(0), result
    assert not is_armed(repo / "inner", place)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_each_configuration_spelling_works_without_protection(place: Path, repo: Path, name: str) -> None:
    value = f'"touch {place}/PWNED;false"'
    (repo / ".git" / "config").write_text(CONFIGURATIONS[name].format(value=value), newline="")
    assert is_armed(repo, place)
