"""The pytest helpers `result`, `assert_ran` and the fixture."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from nacre.result import Exited, NotStarted, Running, TimedOut
from nacre.testing import ScriptedBash, assert_not_ran, assert_ran, result
from nacre.views.model.text import model_text
from tests.support.waiting import HANG_TIMEOUT_S


def test_result_helper_builds_a_result() -> None:
    made = result("make", stdout="out\n", stderr="err\n", exit_code=2)
    assert (made.command, made.outcome, made.ok) == ("make", Exited(2), False)
    assert (made.stdout, made.stderr, made.output, made.total_bytes) == ("out\n", "err\n", "out\nerr\n", 8)
    assert result().ok
    assert result(outcome=TimedOut(5)).timed_out
    assert model_text(result(stdout="hi\n", exit_code=3)) == "[nacre: exit 3]\nhi"


def test_result_with_a_running_outcome_has_a_task() -> None:
    made = result(outcome=Running("bash-0000abcd"))
    assert made.task is not None
    assert made.task.id == "bash-0000abcd"
    assert made.task.output_file.endswith("bash-0000abcd/output.log")


@pytest.fixture
async def bash() -> ScriptedBash:
    bash = ScriptedBash().on(re.compile("."))
    for command in ("git status", "make", "git status", "rm -rf ~"):
        await bash.run(command)
    return bash


def test_assert_ran_accepts_commands_that_ran(bash: ScriptedBash) -> None:
    assert_ran(bash, "git status", re.compile("^ma"), lambda request: request.command.startswith("git"))
    assert_ran(bash, "git status", times=2)
    assert_not_ran(bash, "make install")


def test_assert_ran_failure_lists_the_recorded_commands(bash: ScriptedBash) -> None:
    with pytest.raises(AssertionError) as raised:
        assert_ran(bash, "make test")
    assert str(raised.value).startswith(
        "'make test' did not run. What was asked for:\n"
        "  'git status': exit 0\n"
        "  'make': exit 0\n"
        "  'git status': exit 0\n"
        "  'rm -rf ~': refused by rm-root-or-home: "
    )


def test_assert_ran_checks_order_and_count(bash: ScriptedBash) -> None:
    with pytest.raises(AssertionError, match="'make' did not run after what comes before it here"):
        assert_ran(bash, "git status", "git status", "make")
    with pytest.raises(AssertionError, match="'make' ran once, not 2 times"):
        assert_ran(bash, "make", times=2)


def test_refused_command_counts_as_not_run(bash: ScriptedBash) -> None:
    assert_not_ran(bash, "rm -rf ~")
    with pytest.raises(AssertionError, match="'rm -rf ~' did not run"):
        assert_ran(bash, "rm -rf ~")


def test_assert_ran_reports_that_nothing_ran() -> None:
    assert_not_ran(ScriptedBash())
    with pytest.raises(AssertionError, match="Nothing was asked for"):
        assert_ran(ScriptedBash(), "ls")
    with pytest.raises(AssertionError, match="Nothing ran"):
        assert_ran(ScriptedBash())


def test_not_started_result_has_no_pid() -> None:
    assert result(outcome=NotStarted("no room")).pid is None


def test_fixture_fails_a_test_that_hides_an_unexpected_command(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["nacre.testing.plugin"]\n')
    (tmp_path / "test_it.py").write_text(
        "import asyncio, contextlib\n"
        "def test_fine(scripted_bash):\n"
        "    scripted_bash.on('ls', stdout='a')\n"
        "    assert asyncio.run(scripted_bash.run('ls')).output == 'a'\n"
        "def test_hidden(scripted_bash):\n"
        "    with contextlib.suppress(Exception):\n"
        "        asyncio.run(scripted_bash.run('ls'))\n"
    )
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=HANG_TIMEOUT_S, cwd=tmp_path)
    assert done.returncode == 1, done
    assert "2 passed, 1 error" in done.stdout
    assert "Unexpected command: 'ls'" in done.stdout
