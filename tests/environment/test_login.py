"""Environments read from a real login shell, in a temporary home."""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import shutil
import sys
from pathlib import Path
from threading import Thread

import pytest

from nacre.environment.build import build_env
from nacre.environment.login import GUARD, forget, login_environment
from nacre.errors import InvalidRequest
from tests.support.waiting import HANG_TIMEOUT_S, TIME_LIMITS_S

BASH = shutil.which("bash") or "/bin/bash"
LONG = 60.0
"""A timeout in seconds that no shell here needs; a loaded machine might."""

START_FILES = {
    "bash": ".bash_profile",
    "zsh": ".zshrc",
    "dash": ".profile",
    "fish": ".config/fish/config.fish",
}


class Home:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.inherited = {"HOME": str(path), "PATH": os.environ["PATH"], "SHELL": BASH, "TERM": "xterm"}

    def write(self, name: str, text: str) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def snapshot(self, *, shell: str | None = None, timeout: float = LONG) -> dict[str, str]:
        return login_environment(self.inherited, shell=shell, timeout=timeout)

    def failure(self, *, shell: str | None = None, timeout: float = LONG) -> InvalidRequest:
        with pytest.raises(InvalidRequest) as raised:
            self.snapshot(shell=shell, timeout=timeout)
        assert (raised.value.code, raised.value.field) == ("login_env", "login_env")
        return raised.value


@pytest.fixture
def home(tmp_path: Path) -> Home:
    forget()
    return Home(tmp_path)


@pytest.mark.parametrize("name", START_FILES)
def test_variables_exported_by_startup_files_are_read_from_every_shell(home: Home, name: str) -> None:
    shell = shutil.which(name)
    if shell is None:
        pytest.skip(f"needs {name}")
    setting = "set -gx TOOL_HOME /opt/tool" if name == "fish" else "export TOOL_HOME=/opt/tool"
    home.write(START_FILES[name], f"echo noise; printf 'A=1\\0B=2\\0'; echo more >&2\n{setting}\n")
    snapshot = home.snapshot(shell=shell)
    assert snapshot["TOOL_HOME"] == "/opt/tool"
    assert not {"A", "B", GUARD, "OLDPWD"} & set(snapshot)
    assert snapshot["TERM"] == "xterm"


def test_exports_behind_the_interactive_guard_are_seen(home: Home) -> None:
    home.write(".bash_profile", ". ~/.bashrc\n")
    home.write(".bashrc", "case $- in *i*) ;; *) return;; esac\nexport PATH=~/.nvm/bin:$PATH\n")
    assert home.snapshot()["PATH"].startswith(f"{home.path}/.nvm/bin:")


def test_values_with_newlines_equals_signs_and_odd_bytes_arrive_whole(home: Home) -> None:
    home.write(".bash_profile", "export ODD=$'a\\nB=c=\\xff\\xfe'\n")
    assert home.snapshot()["ODD"] == os.fsdecode(b"a\nB=c=\xff\xfe")


def test_virtual_env_and_bash_options_of_the_program_are_not_passed_on(home: Home) -> None:
    home.inherited |= {"VIRTUAL_ENV": "/opt/host", "SHELLOPTS": "noexec", "KEPT": "yes"}
    snapshot = home.snapshot()
    assert snapshot["KEPT"] == "yes"
    assert not {"VIRTUAL_ENV", "SHELLOPTS"} & set(snapshot)


@pytest.mark.req("M-11")
def test_secrets_in_startup_files_do_not_get_past_the_filter(home: Home) -> None:
    home.write(".bash_profile", "export GH_TOKEN=0123456789abcdef0123 SSH_AUTH_SOCK=/x NVM_DIR=~/.nvm\n")
    built = build_env(home.snapshot(), env={})
    assert {"GH_TOKEN", "SSH_AUTH_SOCK"} <= set(built.removed)
    assert built.values["NVM_DIR"] == f"{home.path}/.nvm"


def test_functions_and_aliases_of_the_user_do_not_interfere(home: Home) -> None:
    home.write(".bash_profile", "shopt -s expand_aliases; alias env=false; printf() { echo hijacked; }; export A=1\n")
    assert home.snapshot()["A"] == "1"


def test_hanging_startup_file_is_killed_with_its_processes(home: Home) -> None:
    life = home.path / "life"
    os.mkfifo(life)
    reader = os.open(life, os.O_RDONLY | os.O_NONBLOCK)
    try:
        home.write(".bash_profile", "exec 9>~/life; echo started >&9; sleep 1000 & sleep 1000\n")
        started = b""
        for limit in TIME_LIMITS_S:
            error = home.failure(timeout=limit)
            with contextlib.suppress(BlockingIOError):  # opened, but nothing written yet
                started = os.read(reader, 100)
            if started:
                break
        assert GUARD in error.hint
        assert started == b"started\n"
        ended = select.poll()
        ended.register(reader, select.POLLHUP)
        assert ended.poll(HANG_TIMEOUT_S * 1000), "a process still holds the other end"
        assert os.read(reader, 100) == b""
    finally:
        os.close(reader)


def test_login_shell_runs_in_its_own_session(home: Home) -> None:
    python = f"{shlex.quote(sys.executable)} -c 'import os; print(os.getsid(0))'"
    home.write(".bash_profile", f"export SESSION=$({python}) SHELL_PID=$$\n")
    snapshot = home.snapshot()
    assert snapshot["SESSION"] == snapshot["SHELL_PID"]


def test_startup_file_that_reads_stdin_gets_eof(home: Home) -> None:
    home.write(".bash_profile", "read answer; export ANSWER=none$answer\n")
    assert home.snapshot()["ANSWER"] == "none"


def test_startup_file_with_endless_output_is_stopped(home: Home) -> None:
    home.write(".bash_profile", "yes\n")
    assert "forever" in home.failure().hint


def test_background_process_of_a_startup_file_does_not_delay_the_result(home: Home) -> None:
    home.write(".bash_profile", "sleep 1000 & export A=1\n")
    assert home.snapshot()["A"] == "1"


@pytest.mark.parametrize("line", ["exit 3", "exec true", "kill -9 $$"])
def test_shell_that_exits_early_is_a_clear_error(home: Home, line: str) -> None:
    home.write(".bash_profile", f"{line}\n")
    assert GUARD in home.failure().hint


def test_startup_file_can_detect_that_it_is_being_read(home: Home) -> None:
    home.write(".bash_profile", f'[ -n "${GUARD}" ] && return\nexec sleep 1000\n')
    assert home.snapshot()["HOME"] == str(home.path)


def test_shell_that_cannot_be_started_is_a_clear_error(home: Home) -> None:
    assert "could not be started" in home.failure(shell="/no/such/shell").message


def test_nologin_shell_falls_back_to_another(home: Home) -> None:
    home.inherited["SHELL"] = "/usr/sbin/nologin"
    assert home.snapshot()["HOME"] == str(home.path)


def test_missing_home_directory_is_accepted(home: Home) -> None:
    home.inherited["HOME"] = str(home.path / "gone")
    assert home.snapshot()["HOME"] == str(home.path / "gone")


def test_concurrent_callers_share_one_shell(home: Home) -> None:
    home.write(".bash_profile", "echo run >> ~/runs; export A=1\n")
    answers: list[dict[str, str]] = []
    threads = [Thread(target=lambda: answers.append(home.snapshot())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    answers[0]["A"] = "changed by its owner"
    assert [answer["A"] for answer in answers[1:]] == ["1"] * 7
    assert (home.path / "runs").read_text() == "run\n"


def test_failure_is_not_cached(home: Home) -> None:
    home.write(".bash_profile", "exit\n")
    home.failure()
    home.write(".bash_profile", "export A=1\n")
    assert home.snapshot()["A"] == "1"
