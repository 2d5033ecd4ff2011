"""Confined for real: what an agent does all day works in `restricted` and `workspace`, and everything else does not."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from nacre import Bash, InvalidRequest, Limits, Request, Result, ToolContext
from nacre.errors import AccessUnavailable
from nacre.guard import Guard
from nacre.result import Chunk, Exited
from nacre.sandbox.kernel import probe
from tests.support.repositories import git, repository, worktree
from tests.support.waiting import until

HERE = probe()
pytestmark = [
    pytest.mark.req("P-008"),
    pytest.mark.linux,
    pytest.mark.skipif(not (HERE.confines and HERE.seccomp), reason="nothing can be confined here"),
]
needs_mounts = pytest.mark.skipif(not HERE.mounts, reason="needs mount namespaces, which takes root")
needs_networks = pytest.mark.skipif(not HERE.networks, reason="needs network namespaces, which takes root")
needs_ports = pytest.mark.skipif(HERE.landlock < 4, reason="needs Landlock's network rules")
PYTHON = f"{shlex.quote(sys.executable)} -IS"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with something beside it."""
    made = tmp_path.resolve() / "place"
    made.mkdir()
    (made.parent / "outside").write_text("precious")
    return made


async def run(command: str, place: Path, *, env: dict[str, str] | None = None, **given: Any) -> Result:
    context = {"access": "workspace", "working_dir": place, **given}
    return await Bash().run(Request(command, env=env or {}, timeout=60), ToolContext(**context))


async def attempts(commands: dict[str, str], place: Path, **given: Any) -> tuple[list[str], Result]:
    """Those that went through, of many, each by itself in one run."""
    text = "\n".join(f"( {command} ) >/dev/null 2>&1 && echo {name}" for name, command in commands.items())
    result = await run(f"{text}\n:", place, **given)
    assert result.outcome == Exited(0), result
    return result.stdout.split(), result


# what works in `restricted`


@pytest.mark.parametrize("strict", [True, False])
async def test_looking_at_a_repository_works_in_restricted(place: Path, strict: bool) -> None:
    repo = repository(place / "repo")
    (repo / "file").write_text("two\n")
    before = sorted((path, path.lstat().st_mtime_ns) for path in repo.rglob("*"))
    result = await run(
        "git status --short; git log --format=%s; git diff --stat; cat file", repo, access="restricted", strict=strict
    )
    assert result.outcome == Exited(0)
    assert result.stdout.splitlines()[:2] == [" M file", "first"]
    assert result.stdout.endswith("two\n")
    assert result.stderr == ""
    assert sorted((path, path.lstat().st_mtime_ns) for path in repo.rglob("*")) == before


@pytest.mark.skipif(shutil.which("rg") is None, reason="no rg here")
async def test_rg_works_in_restricted(place: Path) -> None:
    (place / "file").write_text("needle\n")
    result = await run("rg -n needle", place, access="restricted")
    assert (result.outcome, result.stdout) == (Exited(0), "file:1:needle\n")


async def test_pytest_works_in_restricted(place: Path) -> None:
    (place / "test_it.py").write_text("def test_it(tmp_path):\n    (tmp_path / 'f').write_text('x')\n")
    pytest_ = f"{shlex.quote(sys.executable)} -m pytest -q -p no:cacheprovider"
    result = await run(pytest_, place, access="restricted")
    assert result.outcome == Exited(0), result.output
    assert "1 passed" in result.stdout
    assert os.listdir(place) == ["test_it.py"]


async def test_home_can_be_listed_in_restricted(place: Path) -> None:
    result = await run("ls -la ~ && cat /etc/passwd", place, access="restricted")
    assert result.outcome == Exited(0)
    assert result.stderr == ""


# what works in a workspace


async def test_a_commit_works_in_a_plain_clone(place: Path) -> None:
    repo = repository(place / "repo")
    result = await run("echo two > file && git commit -qam second && git log --format=%s && git gc -q", repo)
    assert (result.outcome, result.output) == (Exited(0), "second\nfirst\n")
    assert git(repo, "log", "--format=%s").split() == ["second", "first"]
    assert result.remarks == ()


async def test_a_commit_works_in_a_linked_worktree_and_the_main_tree_stays_out_of_reach(place: Path) -> None:
    repo = repository(place / "repo")
    tree = worktree(repo, place / "tree")
    command = f"echo two > file && git commit -qam second && git branch -q more; echo x > {repo}/file"
    result = await run(command, tree)
    assert git(tree, "log", "--format=%s").split() == ["second", "first"]
    assert "more" in git(repo, "branch")
    assert (repo / "file").read_text() == "one\n"
    assert not result.ok
    assert [f"{repo}/file" in said and "outside the workspace" in said for said in result.remarks] == [True]


async def test_a_commit_works_in_a_subdirectory(place: Path) -> None:
    repo = repository(place / "repo")
    (repo / "src").mkdir()
    result = await run("echo new > new && git add new && git commit -qm second", repo / "src")
    assert (result.outcome, result.output) == (Exited(0), "")


async def test_make_works(place: Path) -> None:
    if shutil.which("make") is None:
        pytest.skip("no make here")
    (place / "Makefile").write_text("out: in\n\tcp in out\n")
    (place / "in").write_text("x")
    result = await run("make", place)
    assert (result.outcome, (place / "out").read_text()) == (Exited(0), "x")


def wheel(place: Path) -> Path:
    made = place / "tiny-1.0-py3-none-any.whl"
    info = "tiny-1.0.dist-info"
    with zipfile.ZipFile(made, "w") as file:
        file.writestr("tiny.py", "answer = 42\n")
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
    return made


async def test_pip_installs_into_a_workspace(place: Path) -> None:
    if importlib.util.find_spec("pip") is None:
        pytest.skip("no pip here")
    made = wheel(place.parent)
    pip = f"{shlex.quote(sys.executable)} -m pip install -q --no-index --disable-pip-version-check -t out {made}"
    result = await run(
        f"{pip} && {PYTHON} -c 'import sys; sys.path.insert(0, \"out\"); import tiny; print(tiny.answer)'", place
    )
    assert (result.outcome, result.stdout) == (Exited(0), "42\n"), result.output


@pytest.mark.skipif(shutil.which("npm") is None, reason="no npm here")
async def test_npm_installs_a_tarball_into_a_workspace(place: Path) -> None:
    (place.parent / "package").mkdir()
    (place.parent / "package" / "package.json").write_text('{"name": "tiny", "version": "1.0.0", "main": "i.js"}')
    (place.parent / "package" / "i.js").write_text("module.exports = 42\n")
    with tarfile.open(place.parent / "tiny.tgz", "w:gz") as file:
        file.add(place.parent / "package", "package")
    (place / "package.json").write_text('{"name": "here", "version": "1.0.0", "private": true}')
    npm = "npm install --offline --no-audit --no-fund --no-update-notifier ../tiny.tgz"
    result = await run(f"{npm} >/dev/null && node -p 'require(\"tiny\")'", place)
    assert (result.outcome, result.stdout) == (Exited(0), "42\n"), result.output
    assert json.loads((place / "package.json").read_text())["dependencies"]["tiny"]


async def test_semaphores_and_terminals_work(place: Path) -> None:
    before = set(os.listdir("/dev/shm"))
    locks = "import multiprocessing, os; multiprocessing.Lock().acquire(); a, b = os.openpty(); "
    terminal = "os.write(b, b'typed'); print(os.read(a, 9), os.isatty(b), os.ttyname(b)[:9])"
    result = await run(
        f"{PYTHON} -c {shlex.quote(locks + terminal)}; echo x > /dev/shm/nacre-test-$$; ls /dev/shm", place
    )
    assert result.stdout.startswith("b'typed' True /dev/pts/\n")
    if HERE.mounts:
        assert result.stdout.endswith(f"nacre-test-{result.pid}\n")
        assert set(os.listdir("/dev/shm")) <= before | {
            name for name in os.listdir("/dev/shm") if "nacre-test" not in name
        }
    else:
        Path(f"/dev/shm/nacre-test-{result.pid}").unlink()


async def test_caches_are_moved_unless_the_caller_has_moved_them(place: Path) -> None:
    names = ("npm_config_cache", "PIP_CACHE_DIR", "UV_CACHE_DIR")
    show = "; ".join(f'echo "${name}"' for name in ("TMPDIR", *names))
    result = await run(f"{show}; mkdir -p $npm_config_cache/x", place, env={"UV_CACHE_DIR": "/elsewhere"})
    tmp, *caches = result.stdout.splitlines()
    assert caches == [f"{tmp}/npm", f"{tmp}/pip", "/elsewhere"]
    restricted = await run(show, place, access="restricted")
    assert restricted.stdout.splitlines()[1:] == [os.environ.get(name, "") for name in names]


def is_gone(path: str) -> bool:
    return not os.path.lexists(path)


@pytest.mark.parametrize("access", ["restricted", "workspace"])
async def test_the_private_tmpdir_is_empty_at_first_and_gone_afterwards(place: Path, access: str) -> None:
    fill = (
        "mkdir -p $TMPDIR/a/b; echo x > $TMPDIR/a/b/c; ln -s / $TMPDIR/link; [[ $(mktemp) == $TMPDIR/* ]] && echo mine"
    )
    seen = set()
    for _ in range(2):
        result = await run(
            f"echo $TMPDIR; ls -A $TMPDIR; {fill}; chmod 0 $TMPDIR/a/b 2>/dev/null; :", place, access=access
        )
        tmp, mine = result.stdout.splitlines()
        assert mine == "mine"
        await until(partial(is_gone, tmp), "the end of the private directory")
        seen.add(tmp)
    assert len(seen) == 2


async def test_strict_has_no_tmpdir_of_its_own(place: Path) -> None:
    result = await run(
        "echo ${TMPDIR-none}; echo x > ${TMPDIR:-/tmp}/nacre-test-strict", place, access="restricted", strict=True
    )
    assert result.stdout == os.environ.get("TMPDIR", "none") + "\n"
    assert not result.ok
    assert not Path(os.environ.get("TMPDIR", "/tmp"), "nacre-test-strict").exists()


# where a workspace ends

OUTSIDE = {
    "make": "echo x > ../made",
    "overwrite": "echo x > ../outside",
    "append": "echo x >> ../outside",
    "truncate": "truncate -s 0 ../outside",
    "remove": "rm -f ../outside",
    "move-out": "echo x > f; ln f ../made; mv f ../made",
    "move-in": "mv ../outside .",
    "hard-link-in": "ln ../outside linked && echo x > linked",
    "directory": "mkdir ../made",
    "by-link": "ln -sf ../outside link; echo x > link",
    "by-proc": "echo x > /proc/self/cwd/../made",
    "by-root": "echo x > /proc/self/root/$PWD/../made",
    "by-the-keeper": "echo x > /proc/$PPID/cwd/tmp/nacre-test-made",
    "home": "echo x > ~/nacre-test-made",
    "tmp": "echo x > /tmp/nacre-test-made",
    "device": "mknod null c 1 3",
}


async def test_nothing_is_written_outside(place: Path) -> None:
    through, result = await attempts(OUTSIDE, place)
    assert through == []
    assert {"writes", "network"} <= set(result.enforced)
    assert sorted(os.listdir(place.parent)) == ["outside", "place"]
    assert (place.parent / "outside").read_text() == "precious"


@needs_mounts
async def test_metadata_outside_is_out_of_reach_where_it_says_so(place: Path) -> None:
    before = (place.parent / "outside").stat()
    deeds = {"chmod": "chmod 777 ../outside", "touch": "touch ../outside", "chown": "chown 1 ../outside"}
    through, result = await attempts({**deeds, "inside": "touch f && chmod 700 f"}, place)
    assert through == ["inside"]
    assert "metadata" in result.enforced
    after = (place.parent / "outside").stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_uid) == (before.st_mode, before.st_mtime_ns, before.st_uid)


async def test_roots_that_the_caller_names_are_writable_too(place: Path) -> None:
    more = place.parent / "more"
    more.mkdir()
    (place.parent / "link").symlink_to(more)
    for named in (more, "../more", place.parent / "link"):
        through, _ = await attempts(
            {"more": "echo x > ../more/f && mv ../more/f .", "outside": "echo x > ../f"}, place, writable=(named,)
        )
        assert through == ["more"]


@pytest.mark.parametrize("kind", ["link", "file"])
async def test_what_one_command_leaves_as_git_opens_nothing_for_the_next(place: Path, kind: str) -> None:
    home = place.parent / "home"
    home.mkdir()
    (home / "HEAD").write_text("ref: refs/heads/main\n")
    leave = "ln -s ../home .git" if kind == "link" else "echo gitdir: ../home > .git"
    await run(leave, place)
    if not os.path.lexists(place / ".git"):
        (place / ".git").symlink_to("../home")  # it was not left: as if it had always been there
    through, _ = await attempts({"by-git": "echo x > .git/made", "straight": "echo x > ../home/made"}, place)
    assert through == []
    assert os.listdir(home) == ["HEAD"]


# what is protected


def furnish(place: Path) -> Path:
    """A repository in which everything that is protected exists."""
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
    "config-appended": "echo '[core]' >> .git/config",
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
async def test_what_is_protected_stays_as_it_is(place: Path, deed: str) -> None:
    repo = furnish(place)
    before = contents(repo)
    through, result = await attempts({deed: PROTECTED[deed]}, repo, protected=("kept", repo / "kept.d"))
    assert contents(repo) == before
    if HERE.mounts:
        assert (through, result.remarks) == ([], ())
        assert "protected" in result.enforced
    else:
        assert "protected" not in result.enforced
        assert all(" is protected: it was " in remark for remark in result.remarks)
        assert all(remark.endswith("and has been put back.") for remark in result.remarks)
        assert (through == [deed]) == (result.remarks != ()) or deed == "config-linked"


MADE = {
    ".claude": "mkdir .claude; echo x > .claude/settings.json",
    ".nacre": "echo x > .nacre",
    ".mcp.json": "echo x > .mcp.json",
    ".git/config": "git init -q .",
    "later": "echo x > later",
}


@pytest.mark.parametrize("path", MADE)
async def test_what_is_protected_and_not_there_is_not_there_afterwards(place: Path, path: str) -> None:
    result = await run(MADE[path], place, protected=("later",))
    assert not os.path.lexists(place / path)
    assert "protected" not in result.enforced
    assert f"{place / path} is protected: it was made, and has been removed." in result.remarks


async def test_a_link_in_place_of_the_repository_is_not_left(place: Path) -> None:
    result = await run("mkdir -p evil/hooks; echo x > evil/hooks/pre-commit; ln -s evil .git", place)
    assert not os.path.lexists(place / ".git")
    assert [remark for remark in result.remarks if "a link was put at" in remark]


async def test_the_repository_cannot_be_moved_from_under_its_protection(place: Path) -> None:
    repo = furnish(place)
    move = "mv .git away && mkdir .git && cp -r away/. .git && echo x > .git/hooks/pre-commit"
    through, result = await attempts({"moved": move}, repo)
    assert not (repo / ".git" / "hooks" / "pre-commit").exists()
    if HERE.mounts:
        assert (through, result.remarks) == ([], ())
    else:
        assert [remark for remark in result.remarks if remark.startswith(f"{repo}/.git/hooks is protected")]


def evil(place: Path) -> str:
    """What git would run, as a word of the shell."""
    return shlex.quote(f"touch {place}/PWNED;false")


def is_armed(tree: Path, place: Path) -> bool:
    """Whether the next look of its user at a tree runs what a command has left."""
    with contextlib.suppress(subprocess.CalledProcessError):
        git(tree, "status")
    return (place / "PWNED").exists()


def elsewhere(repo: str, place: Path) -> str:
    """Another repository with all that git needs, and more."""
    copy = f"mkdir evil && cp -r {repo}/.git/objects {repo}/.git/refs {repo}/.git/config evil/"
    return f"{copy} && git config -f evil/config core.fsmonitor {evil(place)}"


async def test_git_is_not_led_to_another_configuration(place: Path) -> None:
    repo = repository(place / "repo")
    result = await run(f"{elsewhere('.', place)} && echo ../evil > .git/commondir", repo)
    assert result.outcome == Exited(0)
    assert f"{repo}/.git/commondir is protected: it was made, and has been removed." in result.remarks
    assert not is_armed(repo, place)


@pytest.mark.parametrize("way", ["straight", "moved"])
async def test_nor_is_it_in_a_linked_worktree_from_the_main_tree(place: Path, way: str) -> None:
    repo = repository(place / "repo")
    tree = worktree(repo, place / "tree")
    lead = f"echo {repo}/evil > .git/worktrees/tree/commondir"
    if way == "moved":
        lead = f"mv .git/worktrees .git/away; cp -r .git/away .git/worktrees; {lead}"
    await run(f"{elsewhere('.', place)}; {lead}", repo)
    assert not is_armed(tree, place)


async def test_nor_is_it_in_another_root(place: Path) -> None:
    repo = repository(place / "repo")
    here = place / "here"
    here.mkdir()
    deeds = {
        "config": f"git config -f ../repo/.git/config core.fsmonitor {evil(place)}",
        "commondir": f"{elsewhere('../repo', place)} && echo {here}/evil > ../repo/.git/commondir",
        "orders": "mkdir ../repo/.claude",
    }
    await attempts(deeds, here, writable=(repo,))
    assert not is_armed(repo, place)
    assert not (repo / ".claude").exists()


async def test_nor_is_it_in_a_submodule(place: Path) -> None:
    repo, other = repository(place / "repo"), repository(place / "other")
    git(repo, "submodule", "--quiet", "add", str(other), "inner")
    copy = f"cp -r .git/modules/inner x && git config -f x/config core.worktree {repo}/inner"
    arm = f"git config -f x/config core.fsmonitor {evil(place)} && echo gitdir: {repo}/x > inner/.git"
    await run(f"{copy} && {arm}", repo)
    assert not is_armed(repo, place)


async def test_nor_is_a_repository_made_in_a_subdirectory_of_one(place: Path) -> None:
    repo = repository(place / "repo")
    (repo / "src").mkdir()
    result = await run(f"git init -q . && git config core.fsmonitor {evil(place)}; touch .git/hooks/x", repo / "src")
    assert f"{repo}/src/.git/config is protected: it was made, and has been removed." in result.remarks
    assert not is_armed(repo / "src", place)


async def test_what_a_cancelled_command_does_with_its_last_breath_is_undone_too(place: Path) -> None:
    """It is told to end, and has its grace for that: only then is anything put back."""
    trap = "trap 'sleep .3; mkdir -p .claude; echo x > .claude/settings.json; touch done; exit' TERM"
    stream = Bash().stream(f"{trap}; echo ready; sleep 60 & wait", ToolContext(access="workspace", working_dir=place))
    async with contextlib.aclosing(stream):
        async for event in stream:
            if isinstance(event, Chunk):
                break
    assert os.listdir(place) == ["done"]


async def test_so_it_is_when_its_task_is_cancelled(place: Path) -> None:
    trap = "trap 'sleep .3; mkdir .claude; touch done; exit' TERM"
    task = asyncio.create_task(run(f"{trap}; touch ready; sleep 60 & wait", place))
    await until((place / "ready").exists, "the trap")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(os.listdir(place)) == ["done", "ready"]


async def test_so_it_is_when_its_task_is_cancelled_again_and_again(place: Path) -> None:
    """As some frameworks do until it has ended."""
    trap = "trap 'sleep .3; mkdir .claude; touch done; exit' TERM"
    task = asyncio.create_task(run(f"{trap}; touch ready; sleep 60 & wait", place))
    await until((place / "ready").exists, "the trap")
    while not task.done():
        task.cancel()
        await asyncio.sleep(0)
    await until(lambda: sorted(os.listdir(place)) == ["done", "ready"], "what it did to be undone")


async def test_what_is_watched_is_looked_at_beside_the_event_loop(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    class Watched(Guard):
        def __init__(self, paths: Iterable[str], roots: Iterable[str]) -> None:
            threads.append(threading.get_ident())
            super().__init__(paths, roots)

        def restore(self) -> list[str]:
            threads.append(threading.get_ident())
            return super().restore()

    monkeypatch.setattr("nacre.guard.Guard", Watched)
    assert (await run("mkdir .claude", place)).ok
    assert os.listdir(place) == []
    assert len(threads) == 2
    assert threading.get_ident() not in threads


async def test_a_repository_turned_into_a_pointer_to_itself_runs_nothing(place: Path) -> None:
    repo = repository(place / "repo")
    command = f"mv .git .x && echo gitdir: ./.x > .git && git config -f .x/config core.fsmonitor {evil(place)}"
    through, _ = await attempts({"pointer": command}, repo)
    assert not is_armed(repo, place)
    assert (repo / ".git").is_dir() == (through == []) == HERE.mounts


async def test_protection_holds_in_a_shell_that_was_started_before_the_file_was_replaced(place: Path) -> None:
    """git replaces its configuration whenever the user changes it: a mount on the old one would go with it."""
    repo = furnish(place)
    for _ in range(3):
        assert (await run("true", repo)).ok
        git(repo, "config", "user.name", "Somebody")
        before = contents(repo)
        through, result = await attempts({"config": "echo '[core]' >> .git/config"}, repo)
        assert contents(repo) == before
        assert (through == []) == ("protected" in result.enforced) == (result.remarks == ())


async def test_protected_orders_that_are_a_link_stay_what_they_are(place: Path) -> None:
    (place / "orders").mkdir()
    (place / "orders" / "settings.json").write_text("{}")
    (place / ".claude").symlink_to("orders")
    through, result = await attempts(
        {"link": "rm .claude; mkdir .claude", "target": "echo x > orders/settings.json"}, place
    )
    assert os.readlink(place / ".claude") == "orders"
    assert (place / "orders" / "settings.json").read_text() == "{}"
    assert "protected" not in result.enforced
    assert f"{place}/.claude is protected: it was changed, and has been put back." in result.remarks
    assert ("target" in through) == (not HERE.mounts)


async def test_a_submodules_hooks_are_protected_from_the_tree_above(place: Path) -> None:
    repo, other = repository(place / "repo"), repository(place / "other")
    git(repo, "submodule", "--quiet", "add", str(other), "libs/deep")
    module = repo / ".git" / "modules" / "libs" / "deep"
    before = (module / "config").read_bytes()
    await attempts({"config": f"echo x >> {module}/config", "hook": f"echo x > {module}/hooks/pre-commit"}, repo)
    assert (module / "config").read_bytes() == before
    assert not (module / "hooks" / "pre-commit").exists()


# what is hidden


async def test_what_is_hidden_cannot_be_read_because_it_has_another_name(place: Path) -> None:
    (place / "h" / "in").mkdir(parents=True)
    for name in ("secret", "in/secret"):
        (place / "h" / name).write_text("s3cret")
        (place / "h" / f"alias-{len(name)}").hardlink_to(place / "h" / name)
    for hidden in ("secret", "in"):
        path = "h/secret" if hidden == "secret" else "h/in/secret"
        result = await run(f"cat {path}", place, access="restricted", hidden=(f"h/{hidden}",))
        assert "hidden" in result.enforced
        assert "s3cret" not in result.output


@pytest.mark.parametrize("access", ["restricted", "workspace"])
async def test_what_is_hidden_cannot_be_read_by_any_path(place: Path, access: str) -> None:
    secrets = place.parent / "secrets"
    secrets.mkdir()
    (secrets / "key").write_text("KEY-IN-DIRECTORY")
    (place.parent / "token").write_text("KEY-IN-FILE")
    (place.parent / "beside").symlink_to("secrets")
    (place.parent / "above").symlink_to(place.parent)
    (place / "link").symlink_to(secrets)
    (place / "token-link").symlink_to(place.parent / "token")
    ways = [
        f"{prefix}{place.parent}/{name}"
        for prefix in ("", "/proc/self/root", "/proc/thread-self/root")
        for name in ("secrets/key", "token")
    ]
    ways += ["../secrets/key", "../token", "link/key", "token-link", "/proc/self/cwd/../token"]
    ways += [f"/proc/{pid}/root{place.parent}/token" for pid in ("1", "$PPID", "$$")]
    ways += ["../beside/key", "../above/token", "../above/secrets/key"]
    reads = "\n".join(
        f"cat {way}; {PYTHON} -c 'print(open(\"{way}\").read())'; cp {way} $TMPDIR/c && cat $TMPDIR/c" for way in ways
    )
    result = await run(f"({reads}) 2>/dev/null\ncat ../outside", place, access=access, hidden=(secrets, "../token"))
    assert result.stdout.strip() == "precious", "all but what is hidden can be read"
    assert "hidden" in result.enforced
    assert (secrets / "key").read_text() == "KEY-IN-DIRECTORY"


async def test_hidden_by_way_of_a_link_hides_what_it_leads_to(place: Path) -> None:
    (place.parent / "token").write_text("KEY")
    (place.parent / "pointer").symlink_to("token")
    result = await run("cat ../token ../pointer", place, access="restricted", hidden=("../pointer",))
    assert "KEY" not in result.output


async def test_inside_what_may_be_written_nothing_is_hidden_without_mounts(place: Path) -> None:
    (place / "token").write_text("KEY")
    if HERE.mounts:
        result = await run("cat token; rm -f token; mv token t", place, hidden=("token",))
        assert "KEY" not in result.output
        assert (place / "token").read_text() == "KEY"
        return
    with pytest.raises(AccessUnavailable, match="hidden"):
        await run("cat token", place, hidden=("token",))
    partial = await run("cat token", place, hidden=("token",), allow_partial=True)
    assert (partial.output, "hidden" in partial.enforced) == ("KEY", False)


@pytest.mark.parametrize("access", ["restricted", "workspace"])
async def test_with_something_hidden_the_rest_of_the_system_works(place: Path, access: str) -> None:
    (place.parent / "token").write_text("KEY")
    result = await run(
        "seq 5 | sort -n | tail -1; cat <(echo sub); cat <<<here; ls / >/dev/null && echo listed",
        place,
        access=access,
        hidden=("../token",),
    )
    assert (result.outcome, result.output) == (Exited(0), "5\nsub\nhere\nlisted\n")


# the network


@contextmanager
def server(family: socket.AddressFamily = socket.AF_INET) -> Iterator[int]:
    with socket.create_server(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0), family=family) as listening:
        yield listening.getsockname()[1]


def tcp(port: int) -> str:
    return f"exec 3<>/dev/tcp/127.0.0.1/{port}"


UDP = "exec 3>/dev/udp/127.0.0.1/9; echo x >&3"
NETLINK = f"{PYTHON} -c 'import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)'"


async def test_without_network_nothing_is_reached(place: Path) -> None:
    with server() as port:
        through, result = await attempts({"tcp": tcp(port), "udp": UDP, "netlink": NETLINK}, place)
    assert through == []
    assert "network" in result.enforced


async def test_with_network_everything_is_and_nothing_is_said_to_be_forbidden(place: Path) -> None:
    with server() as port:
        through, result = await attempts({"tcp": tcp(port), "udp": UDP, "netlink": NETLINK}, place, network=True)
    assert through == ["tcp", "udp", "netlink"]
    assert not [name for name in result.enforced if name.startswith(("network", "tcp"))]


@needs_ports
async def test_of_named_ports_only_those_are_reached_and_only_by_tcp(place: Path) -> None:
    mptcp = f"{PYTHON} -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)'"
    with server() as named, server() as other:
        early = f'import socket; s = socket.socket(); s.sendto(b"x", 0x20000000, ("127.0.0.1", {other}))'
        bind = 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()'
        deeds = {
            "named": tcp(named),
            "other": tcp(other),
            "udp": UDP,
            "netlink": NETLINK,
            "mptcp": mptcp,
            "early": f"{PYTHON} -c {shlex.quote(early)}",
            "serve": f"{PYTHON} -c {shlex.quote(bind)}",
        }
        through, result = await attempts(deeds, place, network=(named, 65000))
        listed = await run(tcp(named), place, network=[named])
    assert through == ["named"]
    assert f"network-ports:{named},65000" in result.enforced
    assert listed.ok


@needs_networks
async def test_a_loopback_of_its_own_connects_what_runs_in_it_and_nothing_else(place: Path) -> None:
    both = (
        "import socket, threading\n"
        "with socket.create_server(('127.0.0.1', 0)) as server:\n"
        "    def answer():\n"
        "        peer, _ = server.accept(); peer.sendall(b'hello'); peer.close()\n"
        "    threading.Thread(target=answer).start()\n"
        "    with socket.create_connection(server.getsockname()) as client: print(client.recv(9))\n"
    )
    with server() as port:
        result = await run(
            f"{PYTHON} -c {shlex.quote(both)}; ({tcp(port)}) 2>/dev/null && echo reached", place, network="loopback"
        )
    assert result.stdout == "b'hello'\n"
    assert "network-loopback" in result.enforced


@pytest.mark.skipif(HERE.networks, reason="here it can be had")
async def test_a_loopback_that_cannot_be_had_is_refused(place: Path) -> None:
    with pytest.raises(AccessUnavailable, match="network-loopback"):
        await run("true", place, network="loopback")


# what cannot be meant

WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "network-restricted": ({"access": "restricted", "network": True}, "bad_network", "network"),
    "ports-restricted": ({"access": "restricted", "network": (443,)}, "bad_network", "network"),
    "writable-restricted": ({"access": "restricted", "writable": ("/tmp",)}, "bad_writable", "writable"),
    "protected-restricted": ({"access": "restricted", "protected": ("x",)}, "bad_protected", "protected"),
    "strict-workspace": ({"strict": True}, "bad_strict", "strict"),
    "hidden-unrestricted": ({"access": "unrestricted", "hidden": ("/x",)}, "bad_hidden", "hidden"),
    "network-unrestricted": ({"access": "unrestricted", "network": True}, "bad_network", "network"),
    "strict-unrestricted": ({"access": "unrestricted", "strict": True}, "bad_strict", "strict"),
    "partial-unrestricted": ({"access": "unrestricted", "allow_partial": True}, "bad_allow_partial", "allow_partial"),
    "everything": ({"working_dir": "/"}, "bad_workspace", "working_dir"),
    "temporary-files": ({"working_dir": tempfile.gettempdir()}, "bad_workspace", "working_dir"),
    "everything-writable": ({"writable": ("/",)}, "bad_workspace", "working_dir"),
    "writable-missing": ({"writable": ("no/such",)}, "writable_missing", "writable"),
    "writable-text": ({"writable": "/tmp"}, "bad_writable", "writable"),
    "writable-number": ({"writable": (3,)}, "bad_writable", "writable"),
    "protected-empty": ({"protected": ("",)}, "bad_protected", "protected"),
    "hidden-text": ({"hidden": "/x"}, "bad_hidden", "hidden"),
    "port-zero": ({"network": (0,)}, "bad_network", "network"),
    "port-large": ({"network": (65536,)}, "bad_network", "network"),
    "port-text": ({"network": ("443",)}, "bad_network", "network"),
    "port-true": ({"network": (True,)}, "bad_network", "network"),
    "ports-none": ({"network": ()}, "bad_network", "network"),
    "network-word": ({"network": "lan"}, "bad_network", "network"),
    "network-number": ({"network": 443}, "bad_network", "network"),
    "memory-zero": ({"limits": Limits(memory=0)}, "bad_limit", "limits.memory"),
    "cpu-negative": ({"limits": Limits(cpu=-1)}, "bad_limit", "limits.cpu"),
    "cpu-nan": ({"limits": Limits(cpu=float("nan"))}, "bad_limit", "limits.cpu"),
    "cpu-endless": ({"limits": Limits(cpu=float("inf"))}, "bad_limit", "limits.cpu"),
    "processes-true": ({"limits": Limits(processes=True)}, "bad_limit", "limits.processes"),
    "processes-half": ({"limits": Limits(processes=1.5)}, "bad_limit", "limits.processes"),  # type: ignore[arg-type]
    "files-text": ({"limits": Limits(open_files="9")}, "bad_limit", "limits.open_files"),  # type: ignore[arg-type]
    "size-half": ({"limits": Limits(file_size=0.5)}, "bad_limit", "limits.file_size"),  # type: ignore[arg-type]
    "memory-huge": ({"limits": Limits(memory=2**70)}, "bad_limit", "limits.memory"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_what_cannot_be_meant_is_said_before_anything_starts(place: Path, name: str) -> None:
    given, code, field = WRONG[name]
    with pytest.raises(InvalidRequest) as caught:
        await run("touch made", place, **given)
    assert (caught.value.code, caught.value.field) == (code, field)
    assert caught.value.hint
    assert os.listdir(place) == []
