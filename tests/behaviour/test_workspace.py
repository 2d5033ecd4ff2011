"""Real sandboxing: an agent's daily work succeeds in `restricted` and `workspace`, and nothing escapes."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import sys
import tarfile
import zipfile
from functools import partial
from pathlib import Path

import pytest

from nacre.result import Exited
from tests.support.confined import HERE, PYTHON, confined, needs_mounts, run, try_all
from tests.support.hosts import run_host
from tests.support.quoting import quote
from tests.support.repositories import git, repository, worktree
from tests.support.waiting import until

pytestmark = [pytest.mark.req("P-008"), *confined]


# what works in `restricted`


@pytest.mark.parametrize("strict", [True, False])
async def test_git_and_cat_read_a_repository_in_restricted_without_changing_it(place: Path, strict: bool) -> None:
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
    assert result.notes == ()


async def test_commit_in_a_linked_worktree_works_but_cannot_write_the_main_tree(place: Path) -> None:
    repo = repository(place / "repo")
    tree = worktree(repo, place / "tree")
    command = f"echo two > file && git commit -qam second && git branch -q more; echo x > {quote(repo)}/file"
    result = await run(command, tree)
    assert git(tree, "log", "--format=%s").split() == ["second", "first"]
    assert "more" in git(repo, "branch")
    assert (repo / "file").read_text() == "one\n"
    assert not result.ok
    if " " not in str(repo):  # only a part of a denied path with spaces is named
        assert [f"{repo}/file" in said and "outside the workspace" in said for said in result.notes] == [True]


async def test_a_commit_works_in_a_subdirectory(place: Path) -> None:
    repo = repository(place / "repo")
    (repo / "src").mkdir()
    result = await run("echo new > new && git add new && git commit -qm second", repo / "src")
    assert (result.outcome, result.output) == (Exited(0), "")


async def test_make_works_in_a_workspace(place: Path) -> None:
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
    pip = f"{shlex.quote(sys.executable)} -m pip install -q --no-index --disable-pip-version-check -t out {quote(made)}"
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


async def test_semaphores_and_dev_shm_work_in_a_workspace(place: Path) -> None:
    name = f"nacre-test-{os.urandom(6).hex()}"
    locks = "import multiprocessing; multiprocessing.Lock().acquire(); print('locked')"
    result = await run(f"{PYTHON} -c {shlex.quote(locks)}; echo x > /dev/shm/{name}; ls /dev/shm", place)
    assert result.stdout.startswith("locked\n")
    assert name in result.stdout.split()
    if HERE.mounts:
        assert result.stdout == f"locked\n{name}\n", "the machine's /dev/shm is visible inside"
        assert not os.path.exists(f"/dev/shm/{name}")
    else:
        os.unlink(f"/dev/shm/{name}")


@pytest.mark.skipif(not HERE.terminals, reason="needs mount namespaces: without them a terminal is among the user's")
async def test_pseudo_terminals_work_in_a_workspace(place: Path) -> None:
    program = "import os; a, b = os.openpty(); os.write(b, b'typed'); print(os.read(a, 9), os.isatty(b), os.ttyname(b))"
    result = await run(f"{PYTHON} -c {shlex.quote(program)}", place)
    assert result.stdout == "b'typed' True /dev/pts/0\n"


async def test_workspace_caches_are_in_tmpdir_unless_the_caller_sets_them(place: Path) -> None:
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
async def test_private_tmpdir_is_empty_at_first_and_removed_afterwards(place: Path, access: str) -> None:
    fill = 'cd "$TMPDIR"; mkdir -p a/b; echo x > a/b/c; ln -s / link; [[ $(mktemp) == "$TMPDIR"/* ]] && echo mine'
    seen = set()
    for _ in range(2):
        result = await run(f'echo $TMPDIR; ls -A "$TMPDIR"; {fill}; chmod 0 a/b 2>/dev/null; :', place, access=access)
        tmp, mine = result.stdout.splitlines()
        assert mine == "mine"
        await until(partial(is_gone, tmp), "the end of the private directory")
        seen.add(tmp)
    assert len(seen) == 2


def test_deleted_or_replaced_private_directory_does_not_stop_the_next_run(place: Path, tmp_path: Path) -> None:
    program = """
        import os, shutil, sys, nacre
        for way in ("as it is", "removed", "another's"):
            result = nacre.run_sync('echo x > "$TMPDIR/x" && cat "$TMPDIR/x"', cwd=sys.argv[1], access="workspace")
            print(way, result.summary, result.output, end="")
            for name in os.listdir(os.environ["TMPDIR"]):
                path = os.path.join(os.environ["TMPDIR"], name)
                while os.path.isdir(path) and not os.path.islink(path):
                    shutil.rmtree(path, ignore_errors=True)
                if way == "removed":
                    os.symlink(sys.argv[1], path)
        print(os.listdir(sys.argv[1]))
    """
    (tmp_path / "tmp").mkdir()
    shown = run_host(program, place, env={"TMPDIR": str(tmp_path / "tmp")})
    assert shown == "as it is exit 0 x\nremoved exit 0 x\nanother's exit 0 x\n[]\n"


def test_standby_shell_whose_private_directory_was_deleted_is_not_used(place: Path, tmp_path: Path) -> None:
    program = """
        import os, shutil, sys, nacre
        from tests.support.census import ready_shells
        from tests.support.waiting import wait_until
        for _ in range(2):
            result = nacre.run_sync('echo $PPID > "$TMPDIR/x" && cat "$TMPDIR/x"', cwd=sys.argv[1], access="workspace")
            keeper = int(result.output)
            wait_until(lambda: ready_shells(keeper), "a ready shell")
            while names := os.listdir(os.environ["TMPDIR"]):  # the keeper removes something there, too
                for name in names:
                    shutil.rmtree(os.path.join(os.environ["TMPDIR"], name), ignore_errors=True)
        print(result.summary)
    """
    (tmp_path / "tmp").mkdir()
    assert run_host(program, place, env={"TMPDIR": str(tmp_path / "tmp")}) == "exit 0\n"


async def test_strict_mode_has_no_private_tmpdir(place: Path) -> None:
    result = await run(
        'echo ${TMPDIR-none}; echo x > "${TMPDIR:-/tmp}/nacre-test-strict"', place, access="restricted", strict=True
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
    "by-root": 'echo x > "/proc/self/root/$PWD/../made"',
    "by-the-keeper": f"echo x > /proc/$PPID/cwd/tmp/nacre-test-{os.getpid()}",
    "home": f"echo x > ~/nacre-test-{os.getpid()}",
    "tmp": f"echo x > /tmp/nacre-test-{os.getpid()}",
    "device": "mknod null c 1 3",
}


async def test_command_cannot_write_outside_the_workspace(place: Path) -> None:
    through, result = await try_all(OUTSIDE, place)
    assert through == []
    assert {"writes", "network"} <= set(result.enforced)
    assert sorted(os.listdir(place.parent)) == ["outside", "place"]
    assert (place.parent / "outside").read_text() == "precious"


@needs_mounts
async def test_command_cannot_change_metadata_outside_the_workspace(place: Path) -> None:
    before = (place.parent / "outside").stat()
    deeds = {"chmod": "chmod 777 ../outside", "touch": "touch ../outside", "chown": "chown 1 ../outside"}
    through, result = await try_all({**deeds, "inside": "touch f && chmod 700 f"}, place)
    assert through == ["inside"]
    assert "metadata" in result.enforced
    after = (place.parent / "outside").stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_uid) == (before.st_mode, before.st_mtime_ns, before.st_uid)


async def test_extra_writable_directories_can_be_written(place: Path) -> None:
    more = place.parent / "more"
    more.mkdir()
    (place.parent / "link").symlink_to(more)
    for named in (more, "../more", place.parent / "link"):
        through, _ = await try_all(
            {"more": "echo x > ../more/f && mv ../more/f .", "outside": "echo x > ../f"}, place, writable=(named,)
        )
        assert through == ["more"]


@pytest.mark.parametrize("kind", ["link", "file"])
async def test_replaced_dot_git_makes_no_outside_directory_writable(place: Path, kind: str) -> None:
    home = place.parent / "home"
    home.mkdir()
    (home / "HEAD").write_text("ref: refs/heads/main\n")
    leave = "ln -s ../home .git" if kind == "link" else "echo gitdir: ../home > .git"
    await run(leave, place)
    if not os.path.lexists(place / ".git"):
        (place / ".git").symlink_to("../home")  # nacre removed it: act as if it had always been there
    through, _ = await try_all({"by-git": "echo x > .git/made", "straight": "echo x > ../home/made"}, place)
    assert through == []
    assert os.listdir(home) == ["HEAD"]
