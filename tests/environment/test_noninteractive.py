"""Real programs, with everything configured to wait for a person: none waits."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from nacre.environment.build import build_env
from tests.support.waiting import HANG_TIMEOUT_S

WAIT = "sleep 1000 #"
"""Editor, pager or askpass that only a person would quit."""

GITCONFIG = f"""
[user]
    name = Ada Lovelace
    email = ada@example.org
[core]
    editor = {WAIT.replace("#", "")}
    pager = {WAIT.replace("#", "")}
    askPass = {{askpass}}
[sequence]
    editor = {WAIT.replace("#", "")}
[init]
    defaultBranch = main
"""


class Person:
    """A user's home, project and environment, full of settings that make programs wait."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = root / "project"
        self.home.mkdir()
        self.project.mkdir()
        askpass = self.home / "askpass"
        askpass.write_text("#!/bin/sh\nsleep 1000\n")
        askpass.chmod(0o755)
        (self.home / ".gitconfig").write_text(GITCONFIG.format(askpass=askpass))
        self.inherited = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "GIT_CONFIG_SYSTEM": os.devnull,
            "EDITOR": WAIT,
            "VISUAL": WAIT,
            "GIT_EDITOR": WAIT,
            "PAGER": WAIT,
            "GIT_PAGER": WAIT,
            "MANPAGER": WAIT,
            "GIT_ASKPASS": str(askpass),
            "SSH_ASKPASS": str(askpass),
            "SSH_ASKPASS_REQUIRE": "force",
            "SUDO_ASKPASS": str(askpass),
            "DISPLAY": ":0",
            "TERM": "xterm-256color",
            "FORCE_COLOR": "1",
            "CLICOLOR_FORCE": "1",
        }

    def run(self, command: str, **env: str) -> tuple[int, str]:
        """Run the command as nacre does: no input, no terminal, the built environment. Fail if the program waits."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.project,
            env=build_env(self.inherited, env=env).values,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=HANG_TIMEOUT_S,
            start_new_session=True,
            check=False,
        )
        return done.returncode, done.stdout


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


@pytest.fixture
def committer(person: Person) -> Person:
    code, said = person.run("git init -q && for n in 1 2 3; do echo $n > f && git add f && git commit -qm $n; done")
    assert (code, said) == (0, "")
    return person


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"needs {program}")


def test_git_log_does_not_wait_and_keeps_the_users_identity(committer: Person) -> None:
    assert committer.run("git log --format='%an <%ae>' -1") == (0, "Ada Lovelace <ada@example.org>\n")


def test_git_commit_without_a_message_fails_with_a_reason(committer: Person) -> None:
    code, said = committer.run("echo more > f; git commit -a")
    assert (code, said) == (1, "Aborting commit due to empty commit message.\n")


@pytest.mark.parametrize(
    "command",
    [
        "git commit --amend",
        "git revert HEAD",
        "git rebase -i HEAD~2",
        "git switch -qc side HEAD~1 && echo x > g && git add g && git commit -qm g && git merge main",
    ],
)
def test_git_accepts_an_existing_message_without_an_editor(committer: Person, command: str) -> None:
    code, said = committer.run(command)
    assert code == 0, said
    assert committer.run("git status --porcelain") == (0, "")


def test_git_tag_without_a_message_fails_with_a_reason(committer: Person) -> None:
    assert committer.run("git tag -a v1") == (128, "fatal: no tag message?\n")


class Locked(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def locked_remote() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Locked) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/x.git"
        server.shutdown()
        thread.join(HANG_TIMEOUT_S)


def test_git_does_not_prompt_for_a_password(person: Person, locked_remote: str) -> None:
    code, said = person.run(f"git ls-remote {locked_remote}", NO_PROXY="*")
    if "not a git command" in said or "remote helper" in said:
        pytest.skip("this git cannot speak http")
    assert code == 128
    assert said.endswith("terminal prompts disabled\n")


def test_callers_editor_is_used(committer: Person) -> None:
    code, said = committer.run("echo more > f; git commit -qa", GIT_EDITOR="echo mine >")
    assert code == 0, said
    assert committer.run("git log --format=%s -1") == (0, "mine\n")


def test_bash_read_returns_at_once() -> None:
    done = subprocess.run(
        ["bash", "-c", "read x; echo $?"],
        env=build_env({"PATH": os.environ["PATH"]}, env={}).values,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=HANG_TIMEOUT_S,
        check=True,
    )
    assert done.stdout == b"1\n"


@needs("npm")
def test_npm_init_takes_the_defaults(person: Person) -> None:
    code, said = person.run("npm init")
    assert code == 0, said
    assert (person.project / "package.json").exists()


@needs("sudo")
def test_sudo_does_not_wait_for_a_password(person: Person) -> None:
    person.run("sudo true")  # the answer depends on the user, but there must be one


@needs("ssh")
def test_ssh_keygen_does_not_prompt_for_a_passphrase(person: Person) -> None:
    key = person.home / "key"
    code, said = person.run(f"ssh-keygen -q -t ed25519 -N hunter22 -f {key} && ssh-keygen -y -f {key}")
    assert code != 0, said


@needs("man")
def test_man_does_not_wait_for_a_pager(person: Person) -> None:
    person.run("man true")


@needs("node")
def test_node_reports_no_colour_support(person: Person) -> None:
    assert person.run("node -p process.stdout.hasColors") == (0, "undefined\n")


def test_python_prints_no_colours(person: Person) -> None:
    code, said = person.run(f"{shlex.quote(sys.executable)} -c 1/0")
    assert code == 1
    assert "\x1b" not in said
