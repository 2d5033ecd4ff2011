"""Approval: the checker sees a command before anything starts, and the approver is asked when the checker asks."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import nacre
from nacre import Bash, Cancel, Decision, Policy, Request, Session, ToolContext, Verdict
from nacre.approval import approve as approve_module
from nacre.approval.check import check_script
from nacre.policy.custom_rules import rule
from nacre.policy.policy import Exemption
from nacre.profiles import DEFAULT
from nacre.result import Cancelled, Exited, Refused
from tests.support.quoting import quote
from tests.support.waiting import HANG_TIMEOUT_S, turn_loop

TOUCH = rule(
    "no-touch",
    Decision.REFUSE,
    prefix="touch",
    reason="makes a file",
    instead="write to standard output",
    hits=("touch x",),
)
REFUSES = Bash(replace(DEFAULT, policy=Policy(custom_rules=(TOUCH,))))
ASKS = Bash(replace(DEFAULT, policy=Policy(custom_rules=(replace(TOUCH, decision=Decision.ASK),))))


@pytest.mark.req("P-007", "M-09", "T-03")
async def test_a_refused_command_is_never_run_not_even_its_first_line(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path)
    result = await REFUSES.run("echo first > out\nsudo touch made", ctx)
    assert result.outcome == Refused("no-touch", "`touch made` makes a file", "write to standard output")
    assert list(tmp_path.iterdir()) == []
    assert not result.ok
    assert result.exit_code is None
    assert result.duration == 0


async def test_the_default_policy_refuses_to_delete_everything(tmp_path: Path) -> None:
    result = await nacre.run("true || rm -rf /", cwd=tmp_path)
    assert isinstance(result.outcome, Refused)
    assert result.outcome.rule == "rm-root-or-home"


async def test_command_that_needs_approval_is_refused_without_an_approver(tmp_path: Path) -> None:
    result = await ASKS.run("touch made", ToolContext(working_dir=tmp_path))
    assert isinstance(result.outcome, Refused)
    assert result.outcome.reason.endswith("It needs approval, and no person was asked")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("awaited", [True, False])
async def test_command_that_needs_approval_runs_when_the_approver_approves(tmp_path: Path, awaited: bool) -> None:
    seen: list[Verdict] = []

    async def approve_later(verdict: Verdict) -> bool:
        seen.append(verdict)
        await turn_loop()
        return True

    def approve_now(verdict: Verdict) -> bool:
        seen.append(verdict)
        return True

    ctx = ToolContext(working_dir=tmp_path, approve=approve_later if awaited else approve_now)
    result = await ASKS.run("touch made", ctx)
    assert result.outcome == Exited(0)
    assert (tmp_path / "made").exists()
    assert [verdict.rule for verdict in seen] == ["no-touch"]


async def test_command_that_the_approver_denies_is_refused(tmp_path: Path) -> None:
    result = await ASKS.run("touch made", ToolContext(working_dir=tmp_path, approve=lambda verdict: False))
    assert isinstance(result.outcome, Refused)
    assert "asked and refused" in result.outcome.reason
    assert list(tmp_path.iterdir()) == []


async def test_approver_is_not_called_for_a_refused_command(tmp_path: Path) -> None:
    def approve(verdict: Verdict) -> bool:
        raise AssertionError("asked")

    result = await REFUSES.run("touch made", ToolContext(working_dir=tmp_path, approve=approve))
    assert isinstance(result.outcome, Refused)


async def test_call_can_be_cancelled_while_it_waits_for_approval(tmp_path: Path) -> None:
    cancel = Cancel()

    async def approve(verdict: Verdict) -> bool:
        cancel.cancel()
        await asyncio.Event().wait()
        return True

    result = await ASKS.run("touch made", ToolContext(working_dir=tmp_path, approve=approve, cancel=cancel))
    assert result.outcome == Cancelled()
    assert list(tmp_path.iterdir()) == []


async def test_approver_that_raises_fails_the_call_and_nothing_runs(tmp_path: Path) -> None:
    def approve(verdict: Verdict) -> bool:
        raise LookupError("no terminal")

    with pytest.raises(LookupError):
        await ASKS.run("touch made", ToolContext(working_dir=tmp_path, approve=approve))
    assert list(tmp_path.iterdir()) == []


async def test_checker_uses_the_directory_and_variables_of_the_call(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    above = await nacre.run(f"rm -rf {quote(tmp_path)}", cwd=tmp_path / "inner")
    assert isinstance(above.outcome, Refused)
    known = await nacre.run('rm -rf "$X"/*', cwd=tmp_path, env={"X": "inner"})
    assert known.outcome == Exited(0)
    root = await nacre.run('true || rm -rf "$X"', cwd=tmp_path, env={"X": "/"})
    assert isinstance(root.outcome, Refused)


async def test_checker_reads_functions_and_stdin_scripts_given_by_the_caller(tmp_path: Path) -> None:
    function = {"BASH_FUNC_ls%%": "() { touch made; }"}
    result = await REFUSES.run(Request("ls", env=function), ToolContext(working_dir=tmp_path))
    assert isinstance(result.outcome, Refused)
    result = await REFUSES.run(Request("bash", stdin="touch made\n"), ToolContext(working_dir=tmp_path))
    assert isinstance(result.outcome, Refused)
    assert list(tmp_path.iterdir()) == []


async def test_session_command_is_checked_in_the_sessions_directory(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    session = Session(ctx=ToolContext(working_dir=tmp_path))
    await session.run("cd inner")
    result = await session.run(f"rm -rf {quote(tmp_path)}")
    assert isinstance(result.outcome, Refused)
    assert (tmp_path / "inner").exists()


async def test_exemption_applies_in_its_place_only_and_never_to_rm_root_or_home(tmp_path: Path) -> None:
    policy = Policy(exemptions=(Exemption("rm-precious", f"{tmp_path}/**"), Exemption("rm-root-or-home")))
    bash = Bash(replace(DEFAULT, policy=policy))
    place = tmp_path / "a" / "b"
    place.mkdir(parents=True)
    lifted = await bash.run(f"rm -rf {quote(tmp_path)}/a", ToolContext(working_dir=place))
    assert lifted.outcome == Exited(0)
    beside = await bash.run(f"true || rm -rf {quote(tmp_path)}/a /etc", ToolContext(working_dir=tmp_path))
    assert isinstance(beside.outcome, Refused)
    floor = await bash.run("true || rm -rf /", ToolContext(working_dir=tmp_path))
    assert isinstance(floor.outcome, Refused)


async def test_default_decision_ask_runs_only_plain_commands_without_approval(tmp_path: Path) -> None:
    bash = Bash(replace(DEFAULT, policy=Policy(default_decision=Decision.ASK)))
    ctx = ToolContext(working_dir=tmp_path)
    assert (await bash.run("ls -la | sort", ctx)).outcome == Exited(0)
    result = await bash.run("make test", ctx)
    assert isinstance(result.outcome, Refused)
    assert result.outcome.rule == "not-plain"


async def test_default_decision_refuse_given_as_a_string_ignores_the_approver(tmp_path: Path) -> None:
    bash = Bash(replace(DEFAULT, policy=Policy(default_decision="refuse")))  # type: ignore[arg-type]
    result = await bash.run("touch made", ToolContext(working_dir=tmp_path, approve=lambda verdict: True))
    assert isinstance(result.outcome, Refused)
    assert list(tmp_path.iterdir()) == []


async def test_a_plain_git_command_runs_no_program_of_the_repository(tmp_path: Path) -> None:
    monitor = tmp_path / "monitor"
    monitor.write_text(f"#!/bin/sh\ntouch {quote(tmp_path)}/ran\n")
    monitor.chmod(0o755)
    ctx = ToolContext(working_dir=tmp_path)
    await nacre.run("git init -q . && touch f && git add f", cwd=tmp_path)
    await nacre.run(f"git config core.fsmonitor {quote(quote(monitor))}", cwd=tmp_path)
    bash = Bash(replace(DEFAULT, policy=Policy(default_decision=Decision.ASK)))
    result = await bash.run("git ls-files", ctx)
    assert result.stdout == "f\n"
    assert not (tmp_path / "ran").exists()
    await nacre.run("git status", cwd=tmp_path)
    assert (tmp_path / "ran").exists(), "the monitor did not run, so the test proves nothing"


async def test_variable_exported_in_a_session_is_known_to_the_checker(tmp_path: Path) -> None:
    session = Session(ctx=ToolContext(working_dir=tmp_path))
    await session.run("export D=/")
    result = await session.run('true || rm -rf "$D"')
    assert isinstance(result.outcome, Refused)


async def test_event_loop_keeps_running_while_a_long_command_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    turned = threading.Event()

    def check_later(*args: Any, **settings: Any) -> Any:
        assert turned.wait(HANG_TIMEOUT_S), "the event loop is blocked"
        return check_script(*args, **settings)

    monkeypatch.setattr(approve_module, "check_script", check_later)
    asyncio.get_running_loop().call_soon(turned.set)
    assert (await nacre.run(f"echo {'x' * 10_000} | wc -c")).stdout == "10001\n"
