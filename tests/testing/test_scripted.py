"""ScriptedBash behaves like a Bash, except that it runs no shell."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from nacre import Bash, Cancel, Chunk, Ended, InvalidRequest, Request, Result, Session, Started, ToolContext
from nacre.observe import RunEnded
from nacre.profiles import NAMES
from nacre.result import Cancelled, Exited, NotStarted, Outcome, OverLimit, Refused, Running, TimedOut
from nacre.testing import RecordedCall, Reply, ScriptedBash, UnexpectedCommand, result
from tests.support.waiting import turn_loop


@pytest.fixture
def scripted() -> ScriptedBash:
    return ScriptedBash()


async def agent(bash: Bash, ctx: ToolContext) -> str:
    """Call the tool as an application does: it takes any Bash, and knows nothing of tests."""
    return (await bash.call({"command": "make"}, ctx)).text


async def test_scripted_bash_can_replace_a_bash(scripted: ScriptedBash, tmp_path: Path) -> None:
    scripted.on("make", stdout="nothing to do\n")
    assert await agent(scripted, ToolContext(working_dir=tmp_path)) == "nothing to do"


def mask_times(text: str) -> str:
    return re.sub(r"\d+(\.\d+)?(?= ?m?s\b)|(?<=_ms\": )\d+", "N", text)


@pytest.mark.parametrize("profile", NAMES)
async def test_scripted_answer_text_matches_the_real_answer(profile: str, tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path)
    scripted = ScriptedBash(profile)
    scripted.on("printf 'a\\nb\\n'; exit 3", stdout="a\nb\n", exit_code=3)
    arguments = {"command": "printf 'a\\nb\\n'; exit 3"}
    arguments |= {"description": "Print"} if profile == "mycode" else {}
    real, made = await Bash(profile).call(arguments, ctx), await scripted.call(arguments, ctx)
    assert real.result is not None
    assert mask_times(made.text) == mask_times(real.text)
    assert made.data.keys() == real.data.keys()


@pytest.mark.parametrize("profile", NAMES)
def test_scripted_definition_matches_the_real_one(profile: str, tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path)
    assert ScriptedBash(profile).definition(ctx) == Bash(profile).definition(ctx)


def test_scripted_bash_offers_every_access_mode(scripted: ScriptedBash, tmp_path: Path) -> None:
    assert scripted.access_modes == ("unrestricted", "workspace", "restricted")
    assert "network" in scripted.constraints(ToolContext(working_dir=tmp_path, access="restricted"))


async def test_sandboxed_scripted_run_reports_what_would_be_enforced(scripted: ScriptedBash, tmp_path: Path) -> None:
    scripted.on("ls")
    ran = await scripted.run("ls", ToolContext(working_dir=tmp_path, access="restricted"))
    assert "writes" in ran.enforced


async def test_scripted_stream_yields_start_chunks_and_end(scripted: ScriptedBash) -> None:
    scripted.on("make", stdout="out\n", stderr="err\n", exit_code=2)
    events = [event async for event in scripted.stream("make")]
    started, out, err, ended = events
    assert isinstance(started, Started)
    assert (out, err) == (Chunk("stdout", b"out\n"), Chunk("stderr", b"err\n"))
    assert isinstance(ended, Ended)
    assert (ended.result.outcome, ended.result.stdout, ended.result.stderr) == (Exited(2), "out\n", "err\n")
    assert ended.result.pid == started.pid
    assert started.timeout == scripted.profile.timeout


async def test_pattern_matches_anywhere_and_function_gets_the_request(scripted: ScriptedBash, tmp_path: Path) -> None:
    def is_slow(request: Request) -> bool:
        return request.mode == "slow"

    scripted.on(re.compile(r"git (log|diff)\b"), stdout="git\n").on(is_slow, stdout="slow\n")
    assert (await scripted.run("cd x; git log -3")).output == "git\n"
    assert (await scripted.run(Request("whatever", mode="slow"))).output == "slow\n"


async def test_answer_can_be_computed_from_the_request(scripted: ScriptedBash) -> None:
    async def answer_later(request: Request) -> Reply:
        await turn_loop()
        return Reply(stdout=request.command.upper(), exit_code=1)

    scripted.on(re.compile("^echo"), lambda request: request.command.removeprefix("echo "))
    scripted.on(re.compile("^say"), answer_later)
    assert (await scripted.run("echo hello")).output == "hello"
    said = await scripted.run("say so")
    assert (said.output, said.exit_code) == ("SAY SO", 1)


async def test_answer_can_be_a_whole_result(scripted: ScriptedBash, tmp_path: Path) -> None:
    limit = OverLimit("memory", 1e9, 2e9)
    scripted.on("make", result(stdout="half", outcome=limit, duration=7))
    made = await scripted.run("make", ToolContext(working_dir=tmp_path))
    assert (made.command, made.cwd, made.outcome, made.output) == ("make", str(tmp_path), limit, "half")
    assert made.duration == 7


async def test_several_answers_are_used_in_turn_and_the_last_repeats(scripted: ScriptedBash) -> None:
    scripted.on("pytest", exit_code=1).on("pytest", exit_code=0)
    assert [(await scripted.run("pytest")).exit_code for _ in range(4)] == [1, 0, 0, 0]


async def test_unexpected_command_error_lists_the_script_and_earlier_calls(
    scripted: ScriptedBash,
) -> None:
    scripted.on("git status").on(re.compile("^ls"))
    await scripted.run("ls -l")
    with pytest.raises(UnexpectedCommand) as raised:
        await scripted.run("git stauts")
    assert str(raised.value) == (
        "Unexpected command: 'git stauts'\n"
        "Scripted:\n"
        "  'git status'\n"
        "  a command with /^ls/\n"
        "Nearest: 'git status'\n"
        "Asked before:\n"
        "  'ls -l'"
    )


async def test_verify_fails_although_the_program_caught_the_error(
    scripted: ScriptedBash,
) -> None:
    with contextlib.suppress(Exception):
        await scripted.call({"command": "curl example.org"})
    with pytest.raises(UnexpectedCommand, match="Nothing is scripted"):
        scripted.verify()


async def test_in_order_script_rejects_any_other_order() -> None:
    scripted = ScriptedBash(in_order=True).on("one").on("two")
    with pytest.raises(UnexpectedCommand, match="Next in the script: 'one'"):
        await scripted.run("two")
    scripted = ScriptedBash(in_order=True).on("one").on("two")
    await scripted.run("one")
    with pytest.raises(AssertionError, match=r"Was to come, and did not: 'two'\nWhat came:\n  'one'"):
        scripted.verify()
    await scripted.run("two")
    scripted.verify()
    with pytest.raises(UnexpectedCommand, match="have already run"):
        await scripted.run("two")


async def test_times_requires_exactly_that_many_runs(scripted: ScriptedBash) -> None:
    scripted.on("make", times=2)
    await scripted.run("make")
    with pytest.raises(AssertionError, match=r"did not: 'make' \(1 of 2 times\)"):
        scripted.verify()
    await scripted.run("make")
    scripted.verify()
    with pytest.raises(UnexpectedCommand):
        await scripted.run("make")


async def test_refused_command_needs_no_scripted_answer(scripted: ScriptedBash) -> None:
    refused = await scripted.run("rm -rf ~")
    assert isinstance(refused.outcome, Refused)
    scripted.verify()
    unchecked = ScriptedBash(check=False).on("rm -rf ~", stdout="gone")
    assert (await unchecked.run("rm -rf ~")).output == "gone"


async def test_command_that_needs_approval_runs_only_if_approved(scripted: ScriptedBash, tmp_path: Path) -> None:
    scripted.on("git stash drop", stdout="Dropped")
    ctx = ToolContext(working_dir=tmp_path, approve=lambda verdict: verdict.rule == "git-stash-drop")
    assert (await scripted.run("git stash drop", ctx)).output == "Dropped"
    assert isinstance((await scripted.run("git stash drop")).outcome, Refused)


async def test_invalid_request_gives_the_same_error_as_a_real_bash(scripted: ScriptedBash) -> None:
    with pytest.raises(InvalidRequest):
        await scripted.run(Request("ls", cwd="/no/such/directory"))
    answer = await scripted.call({"comand": "ls"})
    assert answer.error == (await Bash().call({"comand": "ls"})).error != ""
    assert scripted.calls == []


async def test_scripted_duration_over_the_timeout_times_out_without_waiting(scripted: ScriptedBash) -> None:
    scripted.on("make", stdout="half", duration=3600)
    late = await scripted.run(Request("make", timeout=900))
    assert (late.outcome, late.duration, late.output) == (TimedOut(900.0), 900.0, "half")


async def test_scripted_duration_over_yield_after_becomes_a_task(scripted: ScriptedBash) -> None:
    scripted.on("make", stdout="half", duration=60, task="bash-0000abcd")
    late = await scripted.run(Request("make", yield_after=30))
    assert late.outcome == Running("bash-0000abcd", promoted=True)
    assert late.task is not None
    assert late.task.id == "bash-0000abcd"
    assert "bash-0000abcd" in " ".join(late.notes)


async def test_scripted_background_command_is_a_task_at_once(scripted: ScriptedBash) -> None:
    scripted.on("npm run dev", stdout="not read", task="bash-0000abcd")
    started = await scripted.run(Request("npm run dev", mode="background"))
    assert (started.outcome, started.output) == (Running("bash-0000abcd"), "")
    assert started.ok


async def test_scripted_output_is_limited_like_real_output(scripted: ScriptedBash) -> None:
    scripted.on("yes", stdout="y\n" * 2_000_000)
    long = await scripted.run("yes")
    assert (long.total_bytes, long.dropped_bytes > 0, long.spill is not None) == (4_000_000, True, True)


async def test_secrets_are_masked_in_scripted_answers(scripted: ScriptedBash) -> None:
    scripted.on("cat key", stdout="the key is hunter2-secret\n")
    answer = await scripted.call({"command": "cat key"}, ToolContext(secrets=("hunter2-secret",)))
    assert answer.text == "the key is [secret]"


async def test_scripted_command_can_run_until_cancelled(scripted: ScriptedBash) -> None:
    scripted.on("tail -f log", stdout="line\n", until_cancelled=True)
    cancel = Cancel()
    ended: list[Result] = []
    async for event in scripted.stream("tail -f log", ToolContext(cancel=cancel)):
        if isinstance(event, Chunk):
            cancel.cancel()
        elif isinstance(event, Ended):
            ended.append(event.result)
    assert [(each.outcome, each.output) for each in ended] == [(Cancelled(), "line\n")]


async def test_cancelled_context_runs_no_scripted_command(scripted: ScriptedBash) -> None:
    cancel = Cancel()
    cancel.cancel()
    assert (await scripted.run("anything", ToolContext(cancel=cancel))).outcome == Cancelled()


async def test_session_carries_over_the_scripted_directory_and_exports(scripted: ScriptedBash, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    scripted.on("cd sub; export MODE=fast", cwd_after="sub", exports={"MODE": "fast"}).on("pwd")
    session = Session(scripted, ToolContext(working_dir=tmp_path))
    await session.run("cd sub; export MODE=fast")
    assert session.cwd == str(tmp_path / "sub")
    assert session.env_changes == {"MODE": "fast"}
    last = await session.run("pwd")
    assert (last.cwd, last.notes) == (str(tmp_path / "sub"), ())


async def test_scripted_run_notifies_observers() -> None:
    seen: list[object] = []
    scripted = ScriptedBash(observers=(seen.append,)).on("ls", stdout="a\n")
    await scripted.run("ls")
    (end,) = (event for event in seen if isinstance(event, RunEnded))
    assert end.to_dict()["bytes"]["output"] == 2


async def test_scripted_run_is_not_in_the_audit_trail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_AUDIT", str(tmp_path / "audit.jsonl"))
    await ScriptedBash().on("ls").run("ls")
    assert not (tmp_path / "audit.jsonl").exists()


async def test_scripted_bash_records_each_call_with_context_and_result(scripted: ScriptedBash, tmp_path: Path) -> None:
    scripted.on("make")
    ctx = ToolContext(working_dir=tmp_path)
    request = Request("make", timeout=5)
    made = await scripted.run(request, ctx)
    (asked,) = scripted.calls
    assert (asked.request, asked.ctx.working_dir, asked.result) == (request, tmp_path, made)
    assert scripted.commands == ["make"]


@pytest.mark.parametrize("outcome", [NotStarted("no room"), Refused("rule", "because")])
async def test_outcome_that_never_started_has_no_pid_and_no_output(outcome: Outcome, scripted: ScriptedBash) -> None:
    scripted.on("make", stdout="not printed", outcome=outcome).on("ls", result(outcome=outcome))
    for command in ("make", "ls"):
        (ended,) = [event async for event in scripted.stream(command)]
        assert isinstance(ended, Ended)
        assert (ended.result.outcome, ended.result.pid, ended.result.output) == (outcome, None, "")


def test_concurrent_threads_are_recorded_once_each(scripted: ScriptedBash) -> None:
    scripted.on(re.compile("."), lambda request: request.command)
    together = threading.Barrier(8)

    class Slow(list[RecordedCall]):
        """A list that lets other threads run during an append."""

        def append(self, asked: RecordedCall) -> None:
            with contextlib.suppress(threading.BrokenBarrierError):
                together.wait(0.05)
            super().append(asked)

    scripted.calls = Slow()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: asyncio.run(scripted.run(f"echo {number}")), range(8)))
    assert sorted(asked.result.output for asked in scripted.calls if asked.result) == [f"echo {n}" for n in range(8)]


@pytest.mark.parametrize("said", [None, b"bytes", ["ls"]])
async def test_invalid_answer_error_names_the_command(said: Any, scripted: ScriptedBash) -> None:
    async def answer_later(_: Request) -> Any:
        return said

    scripted.on("ls", lambda _: said).on("ls", answer_later)
    for _ in range(2):
        with pytest.raises(TypeError, match=r"is not an answer to 'ls': use a Reply, a Result or a string"):
            await scripted.run("ls")


def test_invalid_command_or_answer_fails_when_it_is_scripted(scripted: ScriptedBash) -> None:
    with pytest.raises(TypeError, match=r"\['ls'\] is not a command"):
        scripted.on(["ls"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="b'text' is not an answer"):
        scripted.on("ls", b"text")  # type: ignore[arg-type]


def test_conflicting_or_useless_answer_arguments_raise(scripted: ScriptedBash) -> None:
    with pytest.raises(TypeError, match="not both"):
        scripted.on("ls", "text", exit_code=1)
    with pytest.raises(ValueError, match="times must be at least 1"):
        scripted.on("ls", times=0)
