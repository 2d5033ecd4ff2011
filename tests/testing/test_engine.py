"""ScriptedEngine: an engine for any Bash. Everything in front of it is the real code."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from nacre import Bash, Cancel, Request, ToolContext
from nacre.observe import RunEnded
from nacre.result import Cancelled, Exited, Refused, Running
from nacre.testing import Reply, UnexpectedCommand
from nacre.testing.engine import ScriptedEngine
from nacre.testing.script import ReplyScript
from tests.support.waiting import HANG_TIMEOUT_S, turn_loop


def make_engine(**replies: Reply) -> ScriptedEngine:
    script = ReplyScript(in_order=False)
    for command, reply in replies.items():
        script.add(command, reply, None)
    return ScriptedEngine(script)


async def test_bash_with_a_scripted_engine_checks_and_observes_as_ever() -> None:
    seen: list[object] = []
    bash = Bash(engine=make_engine(make=Reply(stdout="built\n", exit_code=2)), observers=(seen.append,))
    made = await bash.run("make")
    assert (made.outcome, made.stdout) == (Exited(2), "built\n")
    assert isinstance((await bash.run("rm -rf ~")).outcome, Refused)
    assert [type(end.result.outcome) for end in seen if isinstance(end, RunEnded) and end.result] == [Exited, Refused]
    with pytest.raises(UnexpectedCommand, match="Nearest: 'make'"):
        await bash.run("mak")


async def test_scripted_run_takes_a_slot_of_the_limiter() -> None:
    bash = Bash(engine=make_engine(wait=Reply(until_cancelled=True), ls=Reply()), max_running=1)
    cancel = Cancel()
    waiting = asyncio.ensure_future(bash.run("wait", ToolContext(cancel=cancel)))
    await turn_loop(5)
    queued = asyncio.ensure_future(bash.run("ls"))
    await turn_loop(5)
    assert not queued.done()
    cancel.cancel()
    assert (await asyncio.wait_for(waiting, HANG_TIMEOUT_S)).outcome == Cancelled()
    assert (await asyncio.wait_for(queued, HANG_TIMEOUT_S)).ok


async def test_scripted_failure_gets_no_hint_about_this_machine(tmp_path: Path) -> None:
    said = "bash: line 1: pyhton3: command not found\n"
    bash = Bash(engine=make_engine(pyhton3=Reply(stderr=said, exit_code=127)))
    assert (await bash.run("pyhton3", ToolContext(working_dir=tmp_path))).notes == ()


async def test_scripted_task_ends_at_once_if_it_is_cancelled_before() -> None:
    bash, cancel = Bash(engine=make_engine(serve=Reply(task="bash-0000abcd"))), Cancel()
    request = Request("serve", mode="background")
    assert (await bash.run(request)).outcome == Running("bash-0000abcd")
    cancel.cancel()
    assert (await bash.run(request, ToolContext(cancel=cancel))).outcome == Cancelled()
