"""Hints about programs, files and modules that are missing or cannot be used."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.hints.failures import hints_after, program

pytestmark = [pytest.mark.req("T-10"), pytest.mark.linux]


def test_hint_names_a_program_outside_path(project_dir: Path) -> None:
    program(project_dir / ".venv/bin/pytest")
    program(project_dir / "home/.cargo/bin/cargo")
    assert hints_after(project_dir, "bash: pytest: command not found") == [
        "'pytest' is not on PATH, but './.venv/bin/pytest' exists."
    ]
    assert hints_after(project_dir, "bash: cargo: command not found") == [
        f"'cargo' is not on PATH, but '{project_dir}/home/.cargo/bin/cargo' exists."
    ]


def test_hint_searches_paths_in_the_directory_that_the_command_entered(project_dir: Path) -> None:
    line = "cat: mian.py: No such file or directory"
    assert hints_after(project_dir, line, "cd src && cat mian.py") == ["There is no 'mian.py'; did you mean 'main.py'?"]
    line = "cat: src/main.py: No such file or directory"
    assert hints_after(project_dir, line, "cd src && cat src/main.py") == [
        f"There is no 'src/main.py'; did you mean '{project_dir}/src/main.py'?"
    ]


def test_hint_names_why_a_file_cannot_be_executed(project_dir: Path) -> None:
    program(project_dir / "run.sh", "#!/usr/bin/env bash\n", 0o644)
    program(project_dir / "dos.sh", "#!/bin/sh\r\n")
    program(project_dir / "lost", "#!/no/such\n")
    machine = 183 if os.uname().machine == "x86_64" else 62
    (project_dir / "foreign").write_bytes(b"\x7fELF\x02\x01" + b"\0" * 12 + bytes([machine, 0]) + b"\0" * 20)
    built = "aarch64" if machine == 183 else "x86_64"
    assert hints_after(project_dir, "bash: line 1: ./run.sh: Permission denied") == [
        "'./run.sh' is not executable (mode 644): `chmod +x` it, or run it as `bash ./run.sh`."
    ]
    assert hints_after(project_dir, "bash: ./dos.sh: cannot execute: required file not found") == [
        "'./dos.sh' has Windows line endings: `sed -i 's/\\r$//' FILE` repairs it."
    ]
    assert hints_after(project_dir, "bash: ./lost: /no/such: bad interpreter: No such file or directory") == [
        "'./lost' needs '/no/such', which does not exist."
    ]
    assert hints_after(project_dir, "bash: ./foreign: cannot execute binary file: Exec format error") == [
        f"'./foreign' is built for {built}, and this is {os.uname().machine}."
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do anything")
def test_hint_names_owner_and_mode_of_an_unreadable_file(project_dir: Path) -> None:
    closed = "/etc/shadow"
    mode = f"{stat.S_IMODE(os.stat(closed).st_mode):o}"
    [hint] = hints_after(project_dir, f"cat: {closed}: Permission denied")
    assert hint.startswith(f"'/etc/shadow' belongs to root (mode {mode}), and you are ")


def test_hint_names_a_virtual_environment_with_the_module(project_dir: Path) -> None:
    program(project_dir / ".venv/bin/python")
    (project_dir / ".venv/lib/python3.11/site-packages/of_venv").mkdir(parents=True)
    assert hints_after(project_dir, "ModuleNotFoundError: No module named 'of_venv'") == [
        "'of_venv' is installed in '.venv': run '.venv/bin/python'."
    ]
    assert hints_after(project_dir, "ModuleNotFoundError: No module named 'other'", ".venv/bin/python x.py") == []
    assert hints_after(project_dir, "error: externally-managed-environment") == [
        "The system Python is externally managed; use '.venv': `.venv/bin/python -m pip install …`."
    ]


def test_hint_names_git_repositories_below_the_directory(project_dir: Path) -> None:
    assert hints_after(project_dir, "fatal: not a git repository (or any of the parent directories): .git") == [
        f"'{project_dir}' is not in a repository; 'repo' is one."
    ]


def test_hints_name_similar_make_targets_npm_scripts_and_git_branches(project_dir: Path) -> None:
    (project_dir / "Makefile").write_text("VAR := x\nall: test\ntest:\n\ttrue\n.PHONY: all test\n")
    (project_dir / "package.json").write_text('{"scripts": {"build": "x", "lint": "y"}}')
    (project_dir / ".git/refs/heads/feature").mkdir(parents=True)
    (project_dir / ".git/refs/heads/feature/login").touch()
    (project_dir / ".git/packed-refs").write_text("# pack-refs\n" + "0" * 40 + " refs/heads/main\n")
    assert hints_after(project_dir, "make: *** No rule to make target 'tset'.  Stop.") == [
        "There is no target 'tset'; did you mean 'test'?"
    ]
    assert hints_after(project_dir, 'npm error Missing script: "biuld"') == [
        "There is no script 'biuld'; there is 'build'."
    ]
    assert hints_after(project_dir, "npm ERR! missing script: serve") == [
        "There is no script 'serve'; there is 'build', 'lint'."
    ]
    line = "error: pathspec '%s' did not match any file(s) known to git"
    assert hints_after(project_dir, line % "mian") == ["There is no branch 'mian'; did you mean 'main'?"]
    assert hints_after(project_dir, line % "feature/logni") == [
        "There is no branch 'feature/logni'; did you mean 'feature/login'?"
    ]
    assert hints_after(project_dir, line % "else") == []
    for name in ("Makefile", "package.json"):
        (project_dir / name).unlink()
        os.mkfifo(project_dir / name)
    assert hints_after(project_dir, "make: *** No rule to make target 'tset'.  Stop.") == []


def test_hint_path_is_relative_to_where_the_file_was_missing(project_dir: Path) -> None:
    text = "cat: mian.py: No such file or directory"
    assert (
        hints_after(project_dir, text, "cat mian.py; cd src; false") == []
    )  # no similar file where the command looked
    assert hints_after(project_dir, text, "cd src && cat mian.py") == ["There is no 'mian.py'; did you mean 'main.py'?"]
    assert hints_after(project_dir, text, "cd src && ./work") == [
        f"There is no 'mian.py'; did you mean {str(project_dir / 'src/main.py')!r}?"
    ]


def test_hint_suggests_chmod_only_for_files_that_could_be_programs(project_dir: Path) -> None:
    for name, text, end in (
        ("data.csv", "a,b\n", "is not executable (mode 644), and has no `#!` line."),
        ("tool", "\x7fELF", "is not executable (mode 644): `chmod +x` it."),
        ("go.sh", "x\n", "is not executable (mode 644): `chmod +x` it, or run it as `bash ./go.sh`."),
    ):
        program(project_dir / name, text, 0o644)
        assert hints_after(project_dir, f"bash: line 1: ./{name}: Permission denied") == [f"'./{name}' {end}"]


async def test_hint_names_a_full_file_system_or_quota(project_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.statvfs

    def full(path: str) -> os.statvfs_result:
        row = list(real(path))
        row[3] = row[4] = 0  # bfree, bavail
        return os.statvfs_result(tuple(row))

    line = f"dd: error writing '{project_dir}/x': No space left on device"
    assert hints_after(project_dir, line) == []
    monkeypatch.setattr(os, "statvfs", full)
    [hint] = hints_after(project_dir, line)
    assert hint.startswith("The file system at '/")
    assert hint.endswith(" is full.")
    [hint] = hints_after(project_dir, f"cp: {project_dir}/x: Disk quota exceeded")
    assert hint.startswith("This user's quota on '/")
