"""Attempts to change nacre's own code in the workspace: a project's environment, or nacre's checkout.

The sandboxing program loads modules while commands run, and runs them unrestricted.
"""

from __future__ import annotations

import importlib.util
import json
import marshal
import os
import shlex
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import pytest

import nacre
from nacre.sandbox.probe import kernel
from tests.escapes.inside import needs_landlock
from tests.escapes.own_project import BASE, SITE, make_environment
from tests.support.lifeline import Lifeline
from tests.support.users import as_user, directory_of, free_uid
from tests.support.waiting import TIME_LIMITS_S

pytestmark = [pytest.mark.linux, pytest.mark.req("P-008"), needs_landlock]


CACHED = sys.implementation.cache_tag

HOST = """
import json, os, sys
import nacre
command, place, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
try:
    result = nacre.run_sync(command, access="workspace", cwd=place, approve=lambda _: True, **options)
    said = {"outcome": str(result.outcome), "enforced": result.enforced}
    said |= {"output": result.output, "notes": list(result.notes)}
except nacre.NacreError as error:
    said = {"refused": error.code, "message": error.message, "hint": error.hint}
print(json.dumps({"prefix": sys.prefix, "package": os.path.dirname(nacre.__file__), **said}))
"""

ATTEMPTS = {
    "module": f"echo 'raise SystemExit' >>{SITE}/nacre/sandbox/denials.py",
    "replaced-module": f"echo x >new.py; mv -f new.py {SITE}/nacre/sandbox/denials.py",
    "bytecode": f"mkdir -p {SITE}/nacre/sandbox/__pycache__; "
    f"echo x >{SITE}/nacre/sandbox/__pycache__/denials.{CACHED}.pyc",
    "removed-module": f"rm -f {SITE}/nacre/sandbox/denials.py",
    "package-moved": f"mv {SITE}/nacre {SITE}/other",
    "path-file": f"echo 'import os' >{SITE}/new.pth",
    "customize": f"echo x >{SITE}/sitecustomize.py",
    "environment": "echo x >>.venv/pyvenv.cfg",
    "program": "ln -sfn /bin/false .venv/bin/python",
    "script": "echo x >.venv/bin/nacre",
    "environment-moved": "mv .venv away",
    "hard-link": f"ln {SITE}/nacre/sandbox/denials.py alias && echo x >>alias",
    "link": f"ln -s {SITE}/nacre alias && echo x >>alias/sandbox/denials.py",
    "permissions": f"chmod 777 {SITE}/nacre/sandbox/denials.py",
}

COPY = (
    f"mkdir -p copy/{SITE[6:]}/nacre/sandbox copy/bin && touch copy/pyvenv.cfg copy/{SITE[6:]}/nacre/sandbox/denials.py"
)


class Project(NamedTuple):
    """A directory with an environment in it, and how to start programs as its owner."""

    place: Path
    through: Sequence[str] = ()

    @property
    def python(self) -> str:
        return str(self.place / ".venv" / "bin" / "python")

    def host(
        self, command: str, *, python: str = "", env: dict[str, str] | None = None, **options: Any
    ) -> dict[str, Any]:
        """Run one command with the program in the environment; return its report."""
        said: dict[str, Any] = json.loads(
            self.python_says(HOST, command, str(self.place), json.dumps(options), python=python, env=env)
        )
        return said

    def python_says(self, program: str, *words: str, python: str = "", env: dict[str, str] | None = None) -> str:
        own_directories = {
            "HOME": str(self.place.parent),
            "TMPDIR": str(self.place.parent / "tmp"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "XDG_STATE_HOME": "",
            "XDG_CONFIG_HOME": "",
        }
        done = subprocess.run(
            [*self.through, python or self.python, "-W", "error", "-c", program, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
            cwd="/",
            env={**os.environ, **own_directories, **(env or {})},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def code(self) -> dict[str, tuple[int, bytes]]:
        """Return the files of the environment, without the bytecode that Python writes itself."""
        top = self.place / ".venv"
        files = [path for path in top.rglob("*") if path.is_file()]
        files = [path for path in files if path.suffix != ".pyc" or path.stat().st_size < 16]
        return {str(path.relative_to(top)): (path.lstat().st_mode, path.read_bytes()) for path in files}


def give_to(top: Path, uid: int) -> None:
    for path in (top, *top.rglob("*")):
        os.chown(path, uid, uid, follow_symlinks=False)


@pytest.fixture(params=["this-user", "another-user"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    if request.param == "this-user":
        (tmp_path / "tmp").mkdir()
        yield Project(make_environment(tmp_path / "project"))
        return
    uid = free_uid()
    through = as_user(uid)
    with directory_of(uid) as top:
        (top / "tmp").mkdir()
        make_environment(top / "project")
        give_to(top, uid)
        yield Project(top / "project", through)


def test_command_cannot_change_nacres_own_code(project: Project) -> None:
    """Each attempt runs a second time on an unused copy, as a proof that it could succeed."""
    before = project.code()
    here = [f"( {attempt} ) >/dev/null 2>&1 && echo changed {name}" for name, attempt in ATTEMPTS.items()]
    proofs = [
        f"( {COPY} && mkdir {name} && cd {name} && mv ../copy .venv && ( {attempt} ) >/dev/null 2>&1 ) && echo {name}"
        for name, attempt in ATTEMPTS.items()
    ]
    said = project.host("\n".join(["echo ran >ran", *here, "rm -f alias", *proofs, ":"]))
    assert project.code() == before, said
    assert said["prefix"] == str(project.place / ".venv")
    if "refused" in said:
        assert said["refused"] == "own_code_in_workspace", said
        assert not (project.place / "ran").exists()
        assert not (kernel().mounts and not project.through)
    else:
        assert said["output"].splitlines() == [*ATTEMPTS], said
        assert {"protected", "protected-existing"} & set(said["enforced"]), said


def test_own_code_can_be_changed_when_unprotected(project: Project) -> None:
    said = project.host(f"echo '# x' >>{SITE}/nacre/sandbox/denials.py", unprotected=["nacre"])
    assert said["outcome"] == "Exited(code=0)", said
    assert (project.place / SITE / "nacre" / "sandbox" / "denials.py").read_text().endswith("# x\n")


def test_failed_write_to_own_code_is_explained_in_the_notes(project: Project) -> None:
    said = project.host(f"cp /dev/null {SITE}/new.py")
    if "refused" in said:
        pytest.skip(said["message"])
    assert said["outcome"] == "Exited(code=1)"
    assert any("which nacre itself runs from (unprotected=('nacre',)" in note for note in said["notes"]), said


def test_rest_of_the_workspace_is_writable(project: Project) -> None:
    said = project.host("mkdir a && echo x >a/b && mv a c && rm -r c && git init -q . && echo done")
    if "refused" in said:
        pytest.skip(said["message"])
    assert (said["outcome"], said["output"]) == ("Exited(code=0)", "done\n"), said


def test_timeout_kills_all_processes_with_nacre_in_the_workspace(project: Project) -> None:
    """The shell was started by a child of the keeper that has exited."""
    life = Lifeline(project.place / "life")
    try:
        life.path.chmod(0o666)
        started = "(setsid sleep 1000 & ) ; (trap '' TERM; sleep 1000) & sleep 1000"
        for limit in TIME_LIMITS_S:
            said = project.host(f"exec 7>life; echo held >&7; {started}", timeout=limit)
            if "refused" in said:
                pytest.skip(said["message"])
            if life.holders:
                break
        assert said["outcome"] == f"TimedOut(after={limit:.1f})", said
        life.wait_over()
    finally:
        life.close()


def test_background_task_can_be_killed_with_nacre_in_the_workspace(project: Project) -> None:
    life = Lifeline(project.place / "life")
    try:
        life.path.chmod(0o666)
        said = project.host("exec 7>life; echo held >&7; sleep 1000", mode="background")
        if "refused" in said:
            pytest.skip(said["message"])
        assert said["outcome"].startswith("Running("), said
        life.wait_held()
        program = "import nacre, sys; tasks = nacre.Tasks(); print(tasks.kill_sync(tasks.list()[0].id).outcome)"
        assert project.python_says(program).startswith("Killed(")
        life.wait_over()
    finally:
        life.close()


@pytest.mark.skipif(not kernel().mounts, reason="needs mount namespaces, which only root has")
def test_editable_install_is_protected_where_its_files_are(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    project = Project(tmp_path / "project")
    package = project.place / "src" / "nacre"
    shutil.copytree(os.path.dirname(nacre.__file__), package, ignore=shutil.ignore_patterns("__pycache__"))
    before = (package / "errors.py").read_bytes()
    attempts = (
        "exec 2>/dev/null; echo x >>src/nacre/errors.py; mv src/nacre src/other; mv src s; echo x >src/new; ls src"
    )
    said = project.host(attempts, python=BASE, env={"PYTHONPATH": str(package.parent)})
    assert said["package"] == str(package)
    assert (package / "errors.py").read_bytes() == before, said
    assert said["output"].split() == ["nacre", "new"], said


def test_environment_behind_a_link_in_the_workspace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    make_environment(tmp_path / "elsewhere")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".venv").symlink_to(tmp_path / "elsewhere" / ".venv")
    said = Project(tmp_path / "project").host("echo ran >ran")
    assert (said.get("refused"), str(tmp_path / "project" / ".venv") in said["message"]) == (
        "own_code_in_workspace",
        True,
    ), said
    assert not (tmp_path / "project" / "ran").exists()


def test_own_code_refusal_says_what_to_do(project: Project) -> None:
    """As on a kernel where only root may mount."""
    program = dedent("""
        from nacre.sandbox import probe
        probe._in_user_namespace = lambda: frozenset()
        probe._namespaces = lambda: (False, False, False)
    """)
    said = json.loads(project.python_says(program + HOST, "echo ran >ran", str(project.place), "{}"))
    assert said["refused"] == "own_code_in_workspace", said
    assert str(project.place / ".venv") in said["message"]
    assert "separate environment" in said["hint"]
    assert "unprotected=('nacre',)" in said["hint"]
    assert not (project.place / "ran").exists()


# nacre's bytecode that Python caches in the workspace
TWO_COMMANDS = HOST.replace("print(", "nacre.run_sync('cat nowhere', access='restricted', cwd=place); print(")
"""The second command fails, and nacre loads the module that explains why."""


@pytest.fixture
def package(project: Project) -> Path:
    """Move nacre out of the workspace, where the environment's owner can read it; return its path."""
    package = project.place.parent / "elsewhere" / "nacre"
    package.parent.mkdir()
    (project.place / SITE / "nacre").rename(package)
    shutil.rmtree(project.place / ".venv")
    return package


def forge_bytecode(source: Path, statement: str) -> bytes:
    """Return a `.pyc` file that Python accepts for this source file."""
    status = source.stat()
    code = compile(f"{source.read_text()}\n{statement}\n", str(source), "exec")
    stamp = struct.pack("<III", 0, int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF)
    return importlib.util.MAGIC_NUMBER + stamp + marshal.dumps(code)


@pytest.mark.parametrize("exists", [True, False], ids=["made-before", "not-there-yet"])
def test_command_cannot_forge_nacres_bytecode(project: Project, package: Path, exists: bool) -> None:
    cache, trace = project.place / "cache", project.place.parent / "tmp" / "trace"
    forged = project.place / "forged.pyc"
    forged.write_bytes(forge_bytecode(package / "sandbox" / "denials.py", f"open({str(trace)!r}, 'w').close()"))
    forged.chmod(0o644)
    if exists:
        cache.mkdir()
        shutil.chown(cache, project.place.stat().st_uid)
    directory = shlex.quote(f"{cache}{package}/sandbox")
    plant = f"exec 2>/dev/null; mkdir -p {directory} && cp forged.pyc {directory}/denials.{CACHED}.pyc; echo ran"
    env = {"PYTHONPATH": str(package.parent), "PYTHONPYCACHEPREFIX": str(cache)}
    said = json.loads(project.python_says(TWO_COMMANDS, plant, str(project.place), "{}", python=BASE, env=env))
    assert not trace.exists(), said
    if not exists:
        assert said["refused"] == "own_code_in_workspace", said
        assert str(cache) in said["message"]
        assert "PYTHONPYCACHEPREFIX" in said["message"]
    elif "refused" not in said:
        assert said["output"] == "ran\n", said
        assert os.listdir(cache) == []


def test_forged_bytecode_runs_without_protection(project: Project, package: Path) -> None:
    """A control: the attempt above succeeds without protection."""
    trace = project.place.parent / "tmp" / "trace"
    planted = Path(f"{project.place}/cache{package}/sandbox")
    planted.mkdir(parents=True)
    code = forge_bytecode(package / "sandbox" / "denials.py", f"open({str(trace)!r}, 'w').close()")
    (planted / f"denials.{CACHED}.pyc").write_bytes(code)
    env = {"PYTHONPATH": str(package.parent), "PYTHONPYCACHEPREFIX": str(project.place / "cache")}
    project.python_says(TWO_COMMANDS, ":", str(project.place), '{"unprotected": ["nacre"]}', python=BASE, env=env)
    assert trace.exists()
