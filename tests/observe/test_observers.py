"""Observers: the events they get of a run. They cannot affect the run."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from contextlib import aclosing
from pathlib import Path

import pytest

from nacre import Bash, Cancel, Chunk, Decision, Ended, InvalidRequest, Request, Session, Started, ToolContext, Verdict
from nacre.observe import Observed, RunBegan, RunEnded
from nacre.result import Cancelled, Exited, Refused, Running
from tests.support.hosts import run_host


@pytest.fixture
def seen() -> list[Observed]:
    return []


@pytest.fixture
def watched(seen: list[Observed]) -> Bash:
    return Bash(observers=(seen.append,))


def ending(seen: list[Observed]) -> RunEnded:
    """Check that one run was seen, and return its end."""
    began, ended = seen
    assert isinstance(began, RunBegan)
    assert isinstance(ended, RunEnded)
    assert ended.began == began
    return ended


async def test_observer_gets_caller_plan_verdict_and_result(
    watched: Bash, seen: list[Observed], tmp_path: Path
) -> None:
    ctx = ToolContext(working_dir=tmp_path, conversation_id="c-1", caller="my-agent")
    request = Request("printf out; printf err >&2; exit 3", description="Say it", timeout=20)
    result = await watched.run(request, ctx)
    ended = ending(seen)
    began = ended.began
    assert (began.command, began.description, began.cwd) == (request.command, "Say it", str(tmp_path))
    assert (began.profile, began.tool, began.caller, began.conversation_id) == ("default", "Bash", "my-agent", "c-1")
    assert (began.access, began.mode, began.timeout, began.yield_after) == ("unrestricted", "default", 20.0, None)
    assert ended.verdict is not None
    assert ended.verdict.allowed
    assert ended.result == result
    assert (ended.error, ended.approved, ended.summary) == ("", None, "exit 3")
    assert began.time <= ended.time


async def test_digest_covers_all_output_including_dropped_bytes(watched: Bash, seen: list[Observed]) -> None:
    result = await watched.run("seq 1 1000000")
    assert result.dropped_bytes > 0
    said = "".join(f"{number}\n" for number in range(1, 1_000_001)).encode()
    assert ending(seen).digest == hashlib.sha256(said).hexdigest()


async def test_run_without_output_has_no_digest(watched: Bash, seen: list[Observed]) -> None:
    await watched.run("true")
    assert ending(seen).digest == ""


async def test_refusal_is_reported_with_its_rule(watched: Bash, seen: list[Observed]) -> None:
    await watched.run("rm -rf ~")
    ended = ending(seen)
    assert ended.verdict is not None
    assert (ended.verdict.decision, ended.verdict.rule) == (Decision.REFUSE, "rm-root-or-home")
    assert ended.result is not None
    assert isinstance(ended.result.outcome, Refused)
    assert ended.result.pid is None


@pytest.mark.parametrize("word", [True, False])
async def test_approval_or_rejection_is_reported(
    word: bool, watched: Bash, seen: list[Observed], tmp_path: Path
) -> None:
    await watched.run("git stash drop", ToolContext(working_dir=tmp_path, approve=lambda _: word))
    ended = ending(seen)
    assert ended.verdict is not None
    assert ended.verdict.decision is Decision.ASK
    assert ended.approved is word


async def test_approval_is_none_when_the_run_is_cancelled_first(
    watched: Bash, seen: list[Observed], tmp_path: Path
) -> None:
    cancel = Cancel()

    async def cancel_and_wait(_: Verdict) -> bool:
        cancel.cancel()
        await asyncio.Event().wait()
        return True

    await watched.run("git stash drop", ToolContext(working_dir=tmp_path, approve=cancel_and_wait, cancel=cancel))
    ended = ending(seen)
    assert ended.result is not None
    assert (ended.result.outcome, ended.approved) == (Cancelled(), None)


async def test_abandoned_run_is_reported_with_its_output_so_far(
    watched: Bash, seen: list[Observed], tmp_path: Path
) -> None:
    ctx = ToolContext(working_dir=tmp_path, approve=lambda _: True)
    async with aclosing(watched.stream("echo half; sleep 60; git stash drop", ctx)) as events:
        async for event in events:
            if isinstance(event, Started):
                pid = event.pid
            elif isinstance(event, Chunk):
                break
    ended = ending(seen)
    assert (ended.error, ended.approved, ended.pid) == ("abandoned", True, pid)
    said = ended.to_dict()
    assert (said["pid"], said["bytes"]) == (pid, {"stdout": 5, "stderr": 0, "output": 5})
    assert said["sha256"] == hashlib.sha256(b"half\n").hexdigest()


async def test_clock_set_back_does_not_make_durations_negative(
    watched: Bash, seen: list[Observed], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with aclosing(watched.stream("sleep 60")) as events:
        async for event in events:
            if isinstance(event, Started):
                monkeypatch.setattr(time, "time", lambda: 0.0)
                break
    said = ending(seen).to_dict()
    assert said["duration"] == said["elapsed"]
    assert 0 < said["elapsed"] < 60


async def test_approval_is_none_without_an_approver(watched: Bash, seen: list[Observed], tmp_path: Path) -> None:
    await watched.run("git stash drop", ToolContext(working_dir=tmp_path))
    assert ending(seen).approved is None


async def test_invalid_request_is_reported_with_its_code(watched: Bash, seen: list[Observed]) -> None:
    with pytest.raises(InvalidRequest):
        await watched.run(Request("ls", cwd="/no/such/directory"))
    ended = ending(seen)
    assert (ended.error, ended.result, ended.verdict, ended.began.cwd) == ("cwd_missing", None, None, "")


async def test_run_with_a_closed_stream_is_reported_as_abandoned(watched: Bash, seen: list[Observed]) -> None:
    async with aclosing(watched.stream("sleep 60")) as events:
        async for event in events:
            if isinstance(event, Started):
                break
    ended = ending(seen)
    assert (ended.error, ended.result) == ("abandoned", None)


async def test_cancelled_run_is_reported_as_cancelled(watched: Bash, seen: list[Observed]) -> None:
    cancel = Cancel()
    async for event in watched.stream("sleep 60", ToolContext(cancel=cancel)):
        if isinstance(event, Started):
            cancel.cancel()
    ended = ending(seen)
    assert ended.result is not None
    assert ended.result.outcome == Cancelled()


async def test_background_task_is_reported_when_it_starts(watched: Bash, seen: list[Observed], tmp_path: Path) -> None:
    from nacre import Tasks

    result = await watched.run(Request("sleep 60", mode="background"), ToolContext(output_dir=tmp_path))
    assert result.task is not None
    try:
        ended = ending(seen)
        assert ended.result is not None
        assert ended.result.outcome == Running(result.task.id)
        assert ended.to_dict()["task"] == result.task.id
        assert ended.began.timeout is None
    finally:
        await Tasks(str(tmp_path)).kill(result.task.id)


async def test_end_is_reported_before_the_caller_gets_it(watched: Bash, seen: list[Observed]) -> None:
    async for event in watched.stream("true"):
        if isinstance(event, Ended):
            assert len(seen) == 2


async def test_session_runs_and_tool_calls_are_reported(watched: Bash, seen: list[Observed]) -> None:
    await Session(watched).run("cd /")
    await watched.call({"command": "exit 4"})
    ends = [event for event in seen if isinstance(event, RunEnded)]
    assert [end.result.outcome for end in ends if end.result is not None] == [Exited(0), Exited(4)]


async def test_failing_observer_disturbs_neither_the_run_nor_other_observers(
    seen: list[Observed], caplog: pytest.LogCaptureFixture
) -> None:
    def fails(event: Observed) -> None:
        raise RuntimeError("observer")

    result = await Bash(observers=(fails, seen.append)).run("echo fine")
    assert result.output == "fine\n"
    ending(seen)
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2


def test_unusable_tracer_disturbs_no_run_and_is_logged_once() -> None:
    program = """
        import asyncio, logging, sys, types
        sys.modules["opentelemetry"] = types.ModuleType("opentelemetry")
        sys.modules["opentelemetry.trace"] = types.ModuleType("opentelemetry.trace")  # an old one, say
        logging.basicConfig(stream=sys.stdout)
        import nacre
        async def main():
            print([(await nacre.run("true")).ok for _ in range(2)])
        asyncio.run(main())
    """
    said = run_host(program)
    assert said.count("WARNING:nacre.run:Runs cannot be traced") == 1
    assert said.endswith("[True, True]\n")


async def test_run_that_cannot_be_reported_still_succeeds(watched: Bash, seen: list[Observed]) -> None:
    class Odd(Exception):
        pass

    class Description:
        def __str__(self) -> str:
            raise Odd

    assert (await watched.run(Request("echo fine", description=Description()))).output == "fine\n"  # type: ignore[arg-type]
    assert seen == []


async def test_observer_records_contain_no_secrets(
    watched: Bash, seen: list[Observed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_TOKEN", "tok-inherited-7531")
    ctx = ToolContext(secrets=("hunter2-secret",), conversation_id="hunter2-secret", caller="tok-inherited-7531")
    await watched.run("echo hunter2-secret; rm -rf / tok-inherited-7531", ctx)
    ended = ending(seen)
    shown = repr(ended.began) + repr(ended.to_dict()) + ended.summary
    assert "hunter2" not in shown
    assert "tok-inherited" not in shown
    assert ended.began.command == "echo [secret]; rm -rf / [secret]"


async def test_record_is_plain_data(watched: Bash, seen: list[Observed], tmp_path: Path) -> None:
    result = await watched.run("echo one; echo two >&2", ToolContext(working_dir=tmp_path))
    ended = ending(seen)
    assert ended.to_dict() == {
        "id": ended.began.id,
        "caller": "",
        "conversation": "",
        "profile": "default",
        "command": "echo one; echo two >&2",
        "description": "",
        "verdict": {"decision": "allow", "rule": "", "reason": "", "approved": None},
        "plan": {
            "cwd": str(tmp_path),
            "mode": "default",
            "access": "unrestricted",
            "enforced": [],
            "timeout": 120.0,
            "yield_after": None,
        },
        "outcome": {"kind": "exited", "code": 0},
        "exit_code": 0,
        "error": "",
        "duration": round(result.duration, 6),
        "elapsed": round(ended.elapsed, 6),
        "pid": result.pid,
        "task": None,
        "bytes": {"stdout": 4, "stderr": 4, "output": 8},
        "sha256": ended.digest,
    }


def test_nothing_of_observers_is_loaded_without_them() -> None:
    program = """
        import asyncio, sys, nacre
        assert asyncio.run(nacre.run("true")).ok
        names = ("hashlib", "opentelemetry", "nacre.observe.audit", "nacre.observe.logs", "nacre.observe.spans")
        print([name for name in names if name in sys.modules])
    """
    assert run_host(program) == "[]\n"
