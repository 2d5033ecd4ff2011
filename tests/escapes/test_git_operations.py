"""Git operations in progress: continuing one runs nothing that a command has planted."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
from pathlib import Path

import pytest

from nacre.result import Exited
from tests.escapes.test_git_nested import REBASE
from tests.support.confined import PYTHON, confined, run
from tests.support.repositories import git, repository

pytestmark = [pytest.mark.req("P-008"), *confined]

GIT = "git -c user.name=A -c user.email=a@example.org"
PICKED = (
    f"git checkout -q -b topic; echo z > z; git add z; {GIT} commit -q -m z; picked=$(git rev-parse HEAD);"
    f"git checkout -q main; echo q > q; git add q; {GIT} commit -q -m q;"
)
"""Shell text that creates a commit to apply."""
SEQUENCER = (
    f"{PICKED} {{program}}; mkdir .git/sequencer; cd .git/sequencer; git rev-parse HEAD | tee head > abort-safety;"
    'printf "pick %s z\\npick %s z\\n" $picked $picked > todo;'
)
CONTINUE_REBASE, CONTINUE_PICK = ("rebase", "--continue"), ("cherry-pick", "--continue")
STATES = {
    "a todo list that is too large": (f"{REBASE} {PYTHON} -c {{large}}", CONTINUE_REBASE),
    "the strategy of a rebase": (
        f'{PICKED} {{program}}; {REBASE} echo "pick $picked z" > git-rebase-todo; echo x/evil > strategy',
        CONTINUE_REBASE,
    ),
    "the strategy of a cherry-pick": (
        f'{SEQUENCER} printf "[options]\\n\\tstrategy = x/evil\\n" > opts',
        CONTINUE_PICK,
    ),
    "the strategy of a cherry-pick behind a comment": (
        f'{SEQUENCER} printf "[options] # \\134\\n\\tstrategy = x/evil\\n" > opts',
        CONTINUE_PICK,
    ),
}


def plant(name: str, place: Path) -> tuple[str, tuple[str, ...]]:
    """Return shell text that plants the state, and the git arguments that trigger it."""
    evil = f"touch {shlex.quote(str(place))}/PWNED"
    program = f"printf '#!/bin/sh\\n%s\\n' {shlex.quote(evil)} > git-merge-x/evil; chmod +x git-merge-x/evil"
    program = f"mkdir git-merge-x; {program}"
    large = f"open('git-rebase-todo', 'w').write('#' + 'x' * 17_000_000 + '\\n' + {f'exec {evil}'!r} + '\\n')"
    text, words = STATES[name]
    return text.replace("{program}", program).replace("{large}", shlex.quote(large)), words


@pytest.mark.parametrize("name", STATES)
async def test_continuing_a_planted_git_operation_runs_nothing(place: Path, mounts: bool, name: str) -> None:
    repo = repository(place / "repo")
    text, words = plant(name, place)
    result = await run(text, repo)
    assert result.outcome == Exited(0), result
    assert [note for note in result.notes if ".nacre-quarantined" in note]
    with contextlib.suppress(subprocess.CalledProcessError):
        git(repo, *words)
    assert not (place / "PWNED").exists()


@pytest.mark.parametrize("name", STATES)
def test_continuing_a_planted_git_operation_runs_it_without_protection(place: Path, name: str) -> None:
    repo = repository(place / "repo")
    text, words = plant(name, place)
    subprocess.run(["bash", "-c", text], cwd=repo, check=True)
    with contextlib.suppress(subprocess.CalledProcessError):
        git(repo, *words)
    assert (place / "PWNED").exists()


def prepare_mailbox(repo: Path, place: Path) -> str:
    """Return shell text for half-applied patches with an option that writes a file."""
    for number in (2, 3):
        (repo / "file").write_text(f"{number}\n")
        git(repo, "commit", "-q", "-a", "-m", f"{number}")
        (place / f"patch{number}").write_text(git(repo, "format-patch", "-1", "--stdout") + "\n")
    git(repo, "reset", "-q", "--hard", "HEAD~2")
    option = shlex.quote(f"'--build-fake-ancestor={place.parent / 'outside'}'")
    return (
        f"mkdir .git/rebase-apply; cd .git/rebase-apply; cp {shlex.quote(str(place))}/patch2 0001;"
        f"cp {shlex.quote(str(place))}/patch3 0002; echo 1 > next; echo 2 > last; touch applying;"
        "for each in keep sign utf8 threeway quiet messageid scissors; do echo f > $each; done;"
        f"git rev-parse HEAD > abort-safety; printf '%s\\n' {option} > apply-opt"
    )


async def test_planted_mailbox_options_write_nothing_outside(place: Path, mounts: bool) -> None:
    repo = repository(place / "repo")
    result = await run(prepare_mailbox(repo, place), repo)
    assert result.outcome == Exited(0), result
    assert [note for note in result.notes if "apply-opt" in note]
    with contextlib.suppress(subprocess.CalledProcessError):
        git(repo, "am", "--skip")
    assert (place.parent / "outside").read_text() == "precious"


def test_planted_mailbox_options_write_outside_without_protection(place: Path) -> None:
    repo = repository(place / "repo")
    subprocess.run(["bash", "-c", prepare_mailbox(repo, place)], cwd=repo, check=True)
    with contextlib.suppress(subprocess.CalledProcessError):
        git(repo, "am", "--skip")
    assert (place.parent / "outside").read_bytes()[:4] == b"DIRC"


@pytest.mark.parametrize("name", ["remotes", "branches"])
async def test_legacy_remote_that_runs_a_program_is_removed(place: Path, mounts: bool, name: str) -> None:
    repo = repository(place / "repo")
    result = await run(f"mkdir -p .git/{name}; echo 'URL: ext::sh -c x' > .git/{name}/origin", repo)
    assert [note for note in result.notes if "ext::" in note]
    assert not (repo / ".git" / name / "origin").exists()


ORDINARY = {
    "cherry-pick": "git cherry-pick -X theirs -x topic~1 topic",
    "revert": "git revert --no-edit HEAD~1 HEAD~2",
    "am": "git format-patch -q -2 topic -o ../p; git am -C1 --whitespace=nowarn --exclude='a b' ../p/*",
    "rebase": "git checkout -q topic; git rebase -X ours -s ort main",
    "rebase --apply": "git checkout -q topic; git rebase --apply main",
    "merge": "git merge topic",
    "bisect": "git bisect start; git bisect bad; git bisect good HEAD~2",
}


@pytest.mark.parametrize("name", ORDINARY)
async def test_interrupted_git_operation_is_left_to_be_continued(place: Path, mounts: bool, name: str) -> None:
    repo = repository(place / "repo")
    work = "for i in a b c; do echo $1$i > file; git commit -q -a -m $1$i; done"
    work = f"commit() {{ {work}; }}; git checkout -q -b topic; commit t; git checkout -q main; commit m"
    result = await run(f"{work}; {ORDINARY[name]} > /dev/null 2>&1; true", repo)
    assert (result.outcome, result.notes) == (Exited(0), ())


async def test_branches_named_like_git_state_files_are_kept(place: Path, mounts: bool) -> None:
    repo = repository(place / "repo")
    names = ("sequencer/opts", "rebase-apply/apply-opt", "rebase-merge/strategy", "remotes/x")
    result = await run("; ".join(f"git branch {name}" for name in names), repo)
    assert (result.outcome, result.notes) == (Exited(0), ())
    assert len(git(repo, "branch", "--list").splitlines()) == 5
