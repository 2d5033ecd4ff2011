"""`nacre run` of commands that need approval or are refused."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.cli.nacre_program import NACRE, Done, Nacre, need_locale
from tests.support.waiting import HANG_TIMEOUT_S

ASKED = "GIT_DIR=/nonexistent git stash drop 2>/dev/null; echo ran"
REFUSED = "GIT_DIR=/nonexistent git push -f 2>/dev/null; echo ran"

OF_ITS_OWN = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
"""Makes standard input the controlling terminal, so that Ctrl-C works."""


class Terminal:
    """`nacre run` with a person at the terminal."""

    def __init__(self, program: subprocess.Popen[bytes], fd: int) -> None:
        self.program = program
        self.fd = fd

    def read_until(self, text: bytes) -> bytes:
        """Read until this text appears; return all of it."""
        seen = b""
        while text not in seen:
            seen += os.read(self.fd, 1024)
        return seen

    def type(self, text: bytes) -> None:
        os.write(self.fd, text)

    def wait(self) -> Done:
        out, _ = self.program.communicate(timeout=HANG_TIMEOUT_S)
        return Done(self.program.returncode, out)


@contextmanager
def terminal(nacre: Nacre, *words: str, columns: int = 200) -> Iterator[Terminal]:
    need_locale({**nacre.env, "LC_ALL": "C"})
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    try:
        with subprocess.Popen(
            [sys.executable, "-c", OF_ITS_OWN, *NACRE, "run", *words],
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=theirs,
            cwd=nacre.home,
            env={**nacre.env, "LC_ALL": "C"},
            start_new_session=True,
        ) as program:
            os.close(theirs)
            try:
                yield Terminal(program, ours)
            finally:
                program.kill()
    finally:
        os.close(ours)


def test_refused_command_exits_126_and_names_an_alternative(nacre: Nacre) -> None:
    done = nacre("run", REFUSED)
    assert (done.code, done.out) == (126, b"")
    assert done.err.decode() == (
        "nacre: refused by git-push-force: `git push -f` overwrites the remote branch: commits that others pushed "
        "there would be lost. Instead: `git push --force-with-lease`, which stops if the remote has moved\n"
    )


def test_command_that_needs_approval_is_refused_without_a_terminal(nacre: Nacre) -> None:
    done = nacre("run", ASKED)
    assert (done.code, done.out) == (126, b"")
    assert done.err.decode().startswith("nacre: refused by git-stash-drop: `git stash drop` ")
    assert "no person was asked" in done.err.decode()
    assert done.err.decode().endswith("\nnacre: pass --yes to approve\n")


def test_yes_option_approves_prompts_but_not_refusals(nacre: Nacre) -> None:
    assert nacre("run", "--yes", ASKED) == Done(0, b"ran\n")
    assert nacre("run", "--yes", REFUSED).code == 126


def test_json_outcome_of_a_refused_command_names_the_rule(nacre: Nacre) -> None:
    done = nacre("run", "--json", REFUSED)
    assert (done.code, done.err) == (126, b"")
    outcome = json.loads(done.out)["outcome"]
    assert (outcome["kind"], outcome["rule"]) == ("refused", "git-push-force")


@pytest.mark.parametrize("answer", [b"y\n", b"Yes\n", b" y \n"])
def test_person_at_the_terminal_is_prompted_and_can_approve(nacre: Nacre, answer: bytes) -> None:
    with terminal(nacre, ASKED) as person:
        lines = person.read_until(b"Run it? [y/N] ").decode().split("\r\n")
        assert lines[:2] == [f"nacre: this would run in {nacre.home}:", f"  | {ASKED}"]
        assert lines[2].startswith("nacre: git-stash-drop: `git stash drop` ")
        assert "Instead: " in " ".join(lines)
        person.type(answer)
        assert person.wait() == Done(0, b"ran\n")


@pytest.mark.req("P-011")
def test_approval_prompt_escapes_and_marks_every_line_of_the_command(nacre: Nacre) -> None:
    command = f"cd / && echo hi{' ' * 400}; {ASKED}\nRun it? [y/N] y \x1b[2J\u202e\n# {'x' * 190}nacre: it is safe"
    with terminal(nacre, command, columns=100) as person:
        lines = person.read_until(b"\r\nRun it? [y/N] ").decode().split("\r\n")
        assert all(line.isascii() and len(line) < 100 for line in lines)
        lines = lines[lines.index("  | Run it? [y/N] y \\x1b[2J\\u202e") - 1 :]
        assert lines[:5] == [
            f"  | cd / && echo hi <400 blanks> ; {ASKED}",
            "  | Run it? [y/N] y \\x1b[2J\\u202e",
            f"  | # {'x' * 93}",
            f"  : {'x' * 95}",
            "  : xxnacre: it is safe",
        ]
        assert lines[5].startswith("nacre: git-stash-drop, line 1: ")
        assert lines[-1] == "Run it? [y/N] "
        assert all(line.startswith(("nacre: ", "       ")) for line in lines[5:-1])
        person.type(b"n\n")
        person.read_until(b"asked and refused")


@pytest.mark.req("P-011")
@pytest.mark.parametrize(
    ("words", "shows"),
    [
        (("--stdin", f"{ASKED}; touch made", "bash"), "with stdin, which it would run:"),
        (("--env", f"X={ASKED}; touch made", 'eval "$X"'), "with $X, which it would run:"),
        (("--env", f"X={ASKED}; touch made", 'bash -c "$X; true"'), "with $X:"),
        (("--session", "s", 'eval "$X"'), "with $X, which it would run:"),
    ],
)
def test_approval_prompt_shows_stdin_and_variables_that_would_run(
    nacre: Nacre, words: tuple[str, ...], shows: str
) -> None:
    (nacre.home / "elsewhere").mkdir()
    assert nacre("run", "--session", "s", f"export X='{ASKED}; touch made'; cd elsewhere").code == 0
    with terminal(nacre, *words) as person:
        lines = person.read_until(b"\r\nRun it? [y/N] ").decode().split("\r\n")
        place = nacre.home / "elsewhere" if "--session" in words else nacre.home
        assert lines[:4] == [
            f"nacre: this would run in {place}:",
            f"  | {words[-1]}",
            f"nacre: {shows}",
            f"  | {ASKED}; touch made",
        ]


def test_input_typed_before_the_prompt_does_not_answer_it(nacre: Nacre) -> None:
    with terminal(nacre, ASKED) as person:
        person.type(b"y\ny\n")
        person.read_until(b"Run it? [y/N] ")
        person.type(b"n\n")
        assert person.read_until(b"asked and refused").startswith(b"n\r\n")
        assert person.wait() == Done(126)


def test_message_after_eof_at_the_prompt_starts_on_a_new_line(nacre: Nacre) -> None:
    with terminal(nacre, ASKED) as person:
        person.read_until(b"Run it? [y/N] ")
        person.type(b"\x04")
        assert b"\r\nnacre: refused" in person.read_until(b"asked and refused")


@pytest.mark.parametrize("answer", [b"\n", b"n\n", b"yes please\n", b"\x04"])
def test_answer_other_than_yes_refuses_the_command(nacre: Nacre, answer: bytes) -> None:
    with terminal(nacre, ASKED) as person:
        person.read_until(b"Run it? [y/N] ")
        person.type(answer)
        assert b"A person was asked and refused." in person.read_until(b"Instead: ")
        assert person.wait() == Done(126)


def test_ctrl_c_at_the_prompt_exits_130_and_runs_nothing(nacre: Nacre) -> None:
    with terminal(nacre, ASKED) as person:
        person.read_until(b"Run it? [y/N] ")
        person.type(b"\x03")
        assert person.wait() == Done(130)


def test_refused_command_does_not_prompt(nacre: Nacre) -> None:
    with terminal(nacre, REFUSED) as person:
        assert b"[y/N]" not in person.read_until(b"Instead: ")
        assert person.wait() == Done(126)
