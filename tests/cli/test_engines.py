"""`nacre run --engine`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nacre import Bash
from nacre.cli.info.doctor_check import Check
from nacre.cli.info.engines import engines
from tests.cli.nacre_program import Nacre
from tests.support.namespaces import BWRAP, skip_without_bubblewrap
from tests.support.quoting import quote


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--engine", "moon"], "Use one of local, bwrap, podman, docker"),
        (["--engine", "podman"], "podman needs an image"),
        (["--image", "debian"], "`image` has no effect with engine='local'"),
        (["--engine", "bwrap", "--image", "debian"], "`image` has no effect with engine='bwrap'"),
    ],
    ids=" ".join,
)
def test_invalid_engine_options_are_reported(nacre: Nacre, words: list[str], said: str) -> None:
    done = nacre("run", *words, "true")
    assert done.code == 125
    assert said in done.err.decode()


def test_missing_engine_program_is_reported(nacre: Nacre, tmp_path: Path) -> None:
    (tmp_path / "bash").symlink_to("/bin/bash")
    done = nacre("run", "--engine", "docker", "--image", "debian", "true", env={"PATH": str(tmp_path)})
    assert done.code == 125
    assert "docker was not found. Install docker" in done.err.decode()


@pytest.mark.linux
@pytest.mark.bubblewrap
def test_bwrap_engine_runs_the_command_in_a_new_pid_namespace(nacre: Nacre) -> None:
    skip_without_bubblewrap()
    done = nacre("run", "--engine", "bwrap", "echo $$; exit 3")
    assert (done.code, int(done.out) < 100) == (3, True)


@pytest.mark.linux
@pytest.mark.parametrize("engine", ["local", BWRAP])
def test_session_workspace_stays_at_its_first_directory(nacre: Nacre, tmp_path: Path, engine: str) -> None:
    if engine == "bwrap":
        skip_without_bubblewrap()
    if not Bash().engine.confines:
        pytest.skip("no sandbox on this kernel")
    work, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    work.mkdir()
    elsewhere.mkdir()

    def run(command: str, *options: str, cwd: Path = work) -> int:
        words = ["--engine", engine, "--access", "workspace", "--session", f"stays-{engine}", *options]
        return nacre("run", *words, command, cwd=cwd).code

    assert run("cd /var/tmp") == 0
    assert run(f"echo >{quote(work)}/first", cwd=elsewhere) == 0
    assert run("echo >written-by-a-test", cwd=Path("/var/tmp")) != 0
    assert run(f"echo >{quote(elsewhere)}/file", cwd=elsewhere) != 0
    assert run("echo >file", "--cwd", str(elsewhere)) == 0  # the user chose it explicitly
    assert (sorted(path.name for path in work.iterdir()), (elsewhere / "file").exists()) == (["first"], True)


ABOUT = "one container per conversation, from an image with bash"


@pytest.mark.parametrize("program", ["podman", "docker"])
@pytest.mark.parametrize("works", [True, False])
def test_doctor_queries_whether_podman_and_docker_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, works: bool
) -> None:
    questions = {"podman": "info", "docker": "version"}
    question, end = questions[program], "" if works else "echo Error: no luck >&2; exit 125"
    for each, asked in questions.items():  # replace both: this machine's own may leave a process behind
        (tmp_path / each).write_text(f"#!/bin/sh\n[ $1 = {asked} ] || exit 9\n{end}\n")
        (tmp_path / each).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    found = {check.name: check for check in engines()}[f"engine {program}"]
    assert found == (
        Check(f"engine {program}", "ok", f"{ABOUT}; `{program} {question}` works, no container was started")
        if works
        else Check(f"engine {program}", "off", "Error: no luck.", f"See `{program} {question}`.")
    )


def test_doctor_does_not_run_podman_as_an_ordinary_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "podman").write_text(f"#!/bin/sh\ntouch {quote(tmp_path)}/asked\n")
    (tmp_path / "podman").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    said = f"{ABOUT}; installed, not queried"
    assert Check("engine podman", "untested", said, "See `podman info`.") in engines()
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("tasks", "--engine", "ray"),
        ("output", "bash-3f9c2a17@4f2a91c3"),
        ("wait", "--engine=ray", "3f9c"),
        ("kill", "3f9c@4f"),
        ("write", "3f9c@4f", "text"),
    ],
    ids=" ".join,
)
def test_task_commands_for_a_cluster_report_that_ray_is_missing(
    nacre: Nacre, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "ray.py").write_text("raise ImportError('not here')\n")  # also where Ray is installed
    done = nacre(*words, env={"PYTHONPATH": str(tmp_path)})
    assert done.code == 125
    assert done.err == b"nacre: Ray is not installed here (not here). Install it: pip install 'nacre[ray]'\n"


def test_tasks_engine_option_rejects_engines_without_their_own_tasks(nacre: Nacre) -> None:
    assert b"lists the others" in nacre("tasks", "--engine", "local").err
    done = nacre("tasks", "--engine", "podman")
    assert (done.code, b"'podman' has no separate tasks. Write --engine ray" in done.err) == (125, True)


def test_text_written_to_a_task_may_contain_an_at_sign(nacre: Nacre) -> None:
    assert b"No such task: 'bash-3f9c2a17'" in nacre("write", "bash-3f9c2a17", "a@b").err


def test_task_commands_do_not_import_ray_for_local_tasks(nacre: Nacre, tmp_path: Path) -> None:
    (tmp_path / "ray.py").write_text("raise SystemExit(99)\n")
    for words in (("tasks", "--all"), ("output", "bash-3f9c2a17"), ("wait", "3f9c"), ("kill", "3f9c"), ("clean",)):
        assert nacre(*words, env={"PYTHONPATH": str(tmp_path)}).code in (0, 125)
