"""Hints: a failed command gets a line of help if the cause of its error can be verified."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from nacre import Bash, Request
from nacre.hints import Failure, hints
from tests.hints.failures import hints_after, program, run_here
from tests.support.hosts import run_host
from tests.support.quoting import quote

pytestmark = [pytest.mark.req("T-10"), pytest.mark.linux]


TOLD: list[tuple[str, str]] = [
    ("bash: line 1: gti: command not found", "'gti' is not on PATH; did you mean 'git'?"),
    ("bash: pyhton3: command not found", "'pyhton3' is not on PATH; did you mean 'python3'?"),
    ("bash: line 3: sl: command not found", "'sl' is not on PATH; did you mean 'ls'?"),
    ("bash: ehco: command not found", "'ehco' is not on PATH; did you mean 'echo'?"),
    ("sh: 1: gti: not found", "'gti' is not on PATH; did you mean 'git'?"),
    ("make: gti: No such file or directory", "'gti' is not on PATH; did you mean 'git'?"),
    ("env: \u2018gti\u2019: No such file or directory", "'gti' is not on PATH; did you mean 'git'?"),
    ("/usr/bin/env: 'python': No such file or directory", "'python' is not on PATH; 'python3' is installed."),
    ("\x1b[31mbash: gti: command not found\x1b[0m", "'gti' is not on PATH; did you mean 'git'?"),
    ("cat: src/mian.py: No such file or directory", "There is no 'src/mian.py'; did you mean 'src/main.py'?"),
    ("cat: scr/main.py: No such file or directory", "There is no 'scr/main.py'; did you mean 'src/main.py'?"),
    ("cat: readme.md: No such file or directory", "There is no 'readme.md'; did you mean 'README.md'?"),
    (
        "ls: cannot access 'deep.py': No such file or directory",
        "There is no 'deep.py'; did you mean 'src/pkg/deep.py'?",
    ),
    ("ERROR: file or directory not found: src/mian.py", "There is no 'src/mian.py'; did you mean 'src/main.py'?"),
    (
        "FileNotFoundError: [Errno 2] No such file or directory: 'src/Main.py'",
        "There is no 'src/Main.py'; did you mean 'src/main.py'?",
    ),
    (
        "Error: ENOENT: no such file or directory, open 'src/main.pyy'",
        "There is no 'src/main.pyy'; did you mean 'src/main.py'?",
    ),
    ("bash: line 1: ./src/main: No such file or directory", "There is no './src/main'; did you mean 'src/main.py'?"),
    ("fatal: pathspec 'REDME.md' did not match any files", "There is no 'REDME.md'; did you mean 'README.md'?"),
    (
        "EOFError: EOF when reading a line",
        "It asked a question, and its stdin is empty: pass answers by flags (such as --yes) or as `stdin`.",
    ),
    (
        "Aborting commit due to empty commit message.",
        "Editors are disabled here: pass the text with -m or -F (`git commit -m`, `git tag -m`).",
    ),
    (
        "sudo: a terminal is required to read the password; either use the -S option",
        "It needs a password, which cannot be typed here: avoid it, or use a command that never asks (`sudo -n`).",
    ),
    (
        "fatal: could not read Username for 'https://github.com': terminal prompts disabled",
        "git needs a login, which cannot be typed here: set up a credential helper, a token or ssh first.",
    ),
    (
        "the input device is not a TTY",
        "It needs a terminal, and there is none: leave out -t or --tty, or use its non-interactive options.",
    ),
    (
        "error: externally-managed-environment",
        "The system Python is externally managed: use `python3 -m venv .venv`, then `.venv/bin/pip install …`.",
    ),
    ("ModuleNotFoundError: No module named 'pkg'", "'pkg' is in 'src': set PYTHONPATH=src, or `pip install -e .`."),
    ("ModuleNotFoundError: No module named 'yaml.x'", "The module 'yaml' is in the package 'PyYAML'."),
]


@pytest.mark.parametrize(("text", "hint"), TOLD)
def test_error_message_gets_its_hint(project_dir: Path, text: str, hint: str) -> None:
    assert hints_after(project_dir, f"first\n{text}\n") == [hint]


UNTOLD = [
    "all is well",
    "bash: xyzzy-of-another-kind: command not found",
    "bash: git: command not found",
    "bash: q: command not found",
    "cat: one.txt: No such file or directory",
    "xargs: Cannot open input file 'sevre': No such file or directory",
    "mv: cannot stat 'a': No such file or directory",
    "cat: README.md: No such file or directory",
    "cat: nothing-at-all: No such file or directory",
    "cat: /: No such file or directory",
    "bash: ./none.sh: Permission denied",
    "No space left on device",
    "Address already in use",
    "bind: address already in use: port 1",
    "ModuleNotFoundError: No module named 'of_nobody'",
    ": command not found",
    "No such file or directory",
    "'" * 500 + ": No such file or directory",
    "a: " * 300 + "No such file or directory",
    "\0\0: No such file or directory",
    "x" * 100_000 + ": command not found",
    "/" * 5000 + ": No such file or directory",
]


@pytest.mark.parametrize("text", UNTOLD, ids=range(len(UNTOLD)))
def test_unverifiable_error_message_gets_no_hint(project_dir: Path, text: str) -> None:
    assert hints_after(project_dir, text) == []


def test_two_hints_are_given_with_the_last_error_first(project_dir: Path) -> None:
    text = "\n".join(f"bash: {name}: command not found" for name in ("gti", "sl", "pyhton3", "gti"))
    assert hints_after(project_dir, text) == [
        "'gti' is not on PATH; did you mean 'git'?",
        "'pyhton3' is not on PATH; did you mean 'python3'?",
    ]


def test_blind_command_gets_no_hint_with_file_or_program_names(project_dir: Path) -> None:
    for text, _ in TOLD[:17]:
        assert (
            hints(Failure(command="", cwd=str(project_dir), text=text, env={"PATH": f"{project_dir}/bin"}, blind=True))
            == []
        )


def test_eof_hint_says_when_the_given_stdin_was_too_short(project_dir: Path) -> None:
    assert hints_after(project_dir, "EOFError: EOF when reading a line", stdin=True) == [
        "It read past the end of its `stdin`."
    ]
    assert hints_after(project_dir, "Aborting commit due to empty commit message.", GIT_EDITOR="vi") == []


async def test_only_a_failed_command_gets_a_hint(bash: Bash, project_dir: Path) -> None:
    assert (await run_here(bash, project_dir, "cat READM.md")).notes == (
        "There is no 'READM.md'; did you mean 'README.md'?",
    )
    assert (await run_here(bash, project_dir, "cat READM.md; true")).notes == ()
    assert (await run_here(bash, project_dir, "exit 3")).notes == ()
    path = f"PATH={quote(project_dir)}/bin:$PATH"
    assert (await run_here(bash, project_dir, f"{path}; sevre")).notes == ()  # the command had another PATH
    result = await bash.run(Request("sevre", cwd=project_dir, env={"PATH": f"{project_dir}/bin:{os.environ['PATH']}"}))
    assert result.notes == ("'sevre' is not on PATH; did you mean 'serve'?",)


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("./run.sh", "'./run.sh' is not executable (mode 644): `chmod +x` it, or run it as `sh ./run.sh`."),
        (f"{quote(sys.executable)} -c 'input()'", "It asked a question, and its stdin is empty"),
        ("git init -q g; cd g; git -c user.name=a -c user.email=b commit --allow-empty", "Editors are disabled"),
        ("git init -q g; cd g; git add nothign; cat ../REDME.md", "There is no '../REDME.md'; did you mean"),
        (f"{quote(sys.executable)} srcc/main.py", "/src/main.py'?"),
    ],
)
async def test_error_messages_of_real_programs_get_hints(
    bash: Bash, project_dir: Path, command: str, hint: str
) -> None:
    program(project_dir / "run.sh", mode=0o644)
    result = await run_here(bash, project_dir, command)
    assert any(hint in note for note in result.notes), (result.notes, result.output)


def test_run_without_error_messages_loads_no_hint_or_view_modules() -> None:
    program_text = """
        import asyncio, sys, nacre
        assert asyncio.run(nacre.run("echo No such file; true")).ok
        asyncio.run(nacre.run("exit 3"))
        print([name for name in sys.modules if name.startswith(("nacre.hints", "nacre.views", "nacre.output"))])
    """
    assert run_host(program_text) == "[]\n"
