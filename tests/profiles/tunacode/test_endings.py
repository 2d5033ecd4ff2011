"""Commands that are killed or cannot start (T-08, T-09), and output that is passed through (T-13)."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from nacre import Bash, Cancel, Result, ToolContext
from nacre.compat.tunacode import BashText, ModelRetry, ShellNotFound, bash, make_bash
from nacre.keeper.protocol.ending import UNKILLABLE_AFTER_S
from nacre.profiles.tunacode import TUNACODE, tunacode
from nacre.result import Cancelled, Captured, Lost, NotStarted, Outcome, OverLimit, Running, TimedOut
from nacre.views.answers import answer
from tests.support.census import is_alive
from tests.support.hosts import ROOT, command, run_host, started_host
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import HANG_TIMEOUT_S, TIME_LIMITS_S

plain = make_bash(strict_characters=False)


def make_result(outcome: Outcome) -> Result:
    return Result(command="make", cwd="/work", outcome=outcome)


@pytest.mark.req("T-08")
async def test_timeout_kills_the_tree_and_raises_retry_with_the_output(life: Lifeline) -> None:
    for limit in TIME_LIMITS_S:
        with pytest.raises(ModelRetry) as caught:
            await plain(f"{life.hold} echo first; echo problem >&2; (setsid sleep 60 &) ; sleep 60", timeout=limit)
        message = caught.value.message
        if "problem" in message:
            break
    await life.wait_until_ended()
    seconds = "1 second" if limit == 1 else f"{limit} seconds"
    assert message.startswith(
        f"Command timed out after {seconds} and was killed, with everything it had started. "
        "Retry with a `timeout` of up to 300 seconds, or null for no limit, or with a command that does less.\n"
    )
    assert "It had printed:\n\nSTDOUT:\nfirst\n\nSTDERR:\nproblem" in message


@pytest.mark.req("T-08")
async def test_output_in_the_timeout_message_is_bounded() -> None:
    for limit in TIME_LIMITS_S:
        with pytest.raises(ModelRetry) as caught:
            await plain("seq 100000; echo last; sleep 60", timeout=limit)
        message = caught.value.message
        if "last" in message:
            break
    assert len(message) == 3513 + len("1 second" if limit == 1 else f"{limit} seconds")
    assert "\n...\n[truncated]\n...\n" in message
    assert "\nlast\n\nSTDERR:\n(no errors)" in message


@pytest.mark.req("T-08")
@pytest.mark.parametrize(
    ("after", "advice"),
    [
        (
            299.0,
            "after 299 seconds and was killed, with everything it had started. Retry with a `timeout` of up to 300",
        ),
        (300.0, "after 300 seconds and was killed, with everything it had started. Retry with a `timeout` of null"),
    ],
)
def test_timeout_advice_depends_on_the_timeout_that_was_used(after: float, advice: str) -> None:
    text = answer(make_result(TimedOut(after)), TUNACODE.view).text
    assert advice in text
    assert text.endswith("It had printed nothing.")


@pytest.mark.req("T-08")
def test_missing_bash_raises_shell_not_found(tmp_path: Path) -> None:
    program = """
        import asyncio
        from nacre import NacreError
        from nacre.compat.tunacode import ModelRetry, ShellNotFound, bash
        try:
            asyncio.run(bash("ls"))
        except ShellNotFound as error:
            print(error, isinstance(error, FileNotFoundError), isinstance(error, NacreError))
            print(isinstance(error, ModelRetry))
    """
    said = "bash was not found on PATH. Install bash, or put it on PATH. True True\nFalse\n"
    assert run_host(program, env={"PATH": str(tmp_path)}) == said
    assert issubclass(ShellNotFound, FileNotFoundError)


@pytest.mark.req("T-08")
async def test_command_that_cannot_start_raises_retry_with_the_reason() -> None:
    with pytest.raises(ModelRetry, match=r"could not be started: .*pass less in `env`"):
        await bash("ls", env={"BIG": "x" * 3_000_000})


@pytest.mark.req("T-09")
def test_kill_grace_periods_match_the_document() -> None:
    assert TUNACODE.grace == 5.0
    assert UNKILLABLE_AFTER_S == 1.0


@pytest.mark.req("T-09")
async def test_timeout_sends_sigterm_first_and_keeps_output_of_the_trap() -> None:
    for limit in TIME_LIMITS_S:
        with pytest.raises(ModelRetry) as caught:
            await plain("trap 'echo asked; exit' TERM; echo ready; while :; do sleep 0.05; done", timeout=limit)
        if "ready" in caught.value.message:
            break
    assert "STDOUT:\nready\nasked\n" in caught.value.message


@pytest.mark.req("T-09")
async def test_command_that_ignores_sigterm_is_killed(life: Lifeline) -> None:
    hasty = Bash(replace(tunacode(strict_characters=False), grace=0.1))
    for limit in TIME_LIMITS_S:
        said = await hasty.call({"command": f"trap '' TERM; {life.hold} sleep 60; sleep 60", "timeout": limit})
        if life.holders:
            break
    assert said.data["outcome"] == "timed_out"
    await life.wait_until_ended()


@pytest.mark.req("T-09")
async def test_cancelling_the_call_leaves_nothing_running(life: Lifeline) -> None:
    task = asyncio.ensure_future(plain(f"{life.hold} echo x; sleep 60"))
    await life.wait_until_held()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await life.wait_until_ended()


@pytest.mark.req("T-09")
async def test_cancel_returns_a_report_with_the_partial_output(life: Lifeline) -> None:
    cancel = Cancel()
    task = asyncio.ensure_future(
        make_bash(strict_characters=False, ctx=ToolContext(cancel=cancel))(f"echo x; {life.hold} sleep 60")
    )
    await life.wait_until_held()
    cancel.cancel()
    text = await task
    assert isinstance(text, BashText)
    assert (text.data.exit_code, text.data.stdout) == (-15, "x")
    assert text.endswith("(no errors)\n[nacre: cancelled]")
    await life.wait_until_ended()


@pytest.mark.req("T-09")
async def test_calls_leak_no_fd() -> None:
    await bash("true")
    before = set(os.listdir("/dev/fd"))
    for capture in (True, False):
        await bash("true", capture_output=capture)
        with pytest.raises(ModelRetry):
            await bash("rm -r x", capture_output=capture)
    assert len(set(os.listdir("/dev/fd"))) <= len(before)


@pytest.mark.req("T-05", "T-08")
@pytest.mark.parametrize(
    ("outcome", "code", "said"),
    [
        (Cancelled(), -15, "[nacre: cancelled]"),
        (OverLimit("processes", 5, 6), -9, "[nacre: over its limit of 5 processes: it used 6 processes]"),
        (NotStarted("no memory", "Close something."), None, "could not be started: no memory. Close something."),
        (Lost("the keeper was killed"), None, "It is not known how the command ended. the keeper was killed"),
        (Running("bash-1", promoted=True), None, "The command has not ended; it goes on as bash-1."),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str | int | None) else "",
)
def test_every_other_outcome_is_reported(outcome: Outcome, code: int | None, said: str) -> None:
    told = answer(make_result(outcome), TUNACODE.view)
    assert said in told.text
    assert told.data["exit_code"] == code


HOST = """
    import asyncio, sys
    from nacre.compat.tunacode import make_bash
    print("before")
    text = asyncio.run(make_bash(strict_characters=False)(sys.argv[1], capture_output=False))
    print("===")
    print(text.partition("\\n\\n")[2], text.data.stdout == text.data.stderr == "")
"""


@pytest.mark.req("T-13")
def test_uncaptured_streams_go_to_the_streams_of_the_host(tmp_path: Path) -> None:
    done = subprocess.run(
        command(HOST, r"echo out; echo err >&2; printf '\xff\0raw'"),
        capture_output=True,
        check=True,
        timeout=HANG_TIMEOUT_S,
    )
    text = b"STDOUT:\n(no output)\n\nSTDERR:\n(no errors) True\n"
    assert (done.stdout, done.stderr) == (b"before\nout\n\xff\0raw===\n" + text, b"err\n")


@pytest.mark.req("T-13")
def test_uncaptured_output_passes_through_while_the_command_runs(gate: Gate) -> None:
    with started_host(HOST, f"echo first; {gate.wait}; echo second") as host:
        assert host.stdout is not None
        assert [host.stdout.readline(), host.stdout.readline()] == ["before\n", "first\n"]
        gate.open()
        assert host.stdout.readline() == "second\n"
        assert host.stdout.read().startswith("===\n")


@pytest.mark.req("T-13")
def test_large_uncaptured_output_passes_through_whole() -> None:
    done = subprocess.run(command(HOST, "seq 1000000"), capture_output=True, check=True, timeout=HANG_TIMEOUT_S)
    output = done.stdout.partition(b"===\n")[0].removeprefix(b"before\n")
    assert output == b"".join(b"%d\n" % number for number in range(1, 1_000_001))


@pytest.mark.req("T-13")
@pytest.mark.parametrize(
    ("where", "why"), [(">&-", "it is closed"), ("> >(exec true)", "Broken pipe")], ids=["closed", "gone"]
)
def test_closed_stdout_of_the_host_does_not_end_the_command(tmp_path: Path, where: str, why: str) -> None:
    program = """
        import asyncio, os, select, sys
        from nacre.compat.tunacode import make_bash
        if sys.__stdout__ is not None:
            gone = select.poll()
            gone.register(1, select.POLLERR)
            gone.poll()
        run = make_bash(strict_characters=False)
        text = asyncio.run(run("echo lost; echo done > made", cwd=sys.argv[1], capture_output=False))
        print(text, file=sys.stderr)
    """
    words = shlex.join(command(program, tmp_path))
    done = subprocess.run(
        ["bash", "-c", f"{words} {where}"], capture_output=True, text=True, check=True, timeout=HANG_TIMEOUT_S
    )
    assert done.stderr.endswith(f"(no errors)\n[nacre: Its stdout could not be forwarded: {why}.]\n")
    assert (tmp_path / "made").read_text() == "done\n"


@pytest.mark.req("T-13")
def test_stalled_stdout_reader_does_not_block_a_cancelled_call(tmp_path: Path) -> None:
    program = """
        import asyncio, sys
        from nacre.compat.tunacode import make_bash
        from tests.support.waiting import until
        async def main():
            run = make_bash(strict_characters=False)
            task = asyncio.ensure_future(run("echo started > here; yes", cwd=sys.argv[1], capture_output=False))
            import os
            await until(lambda: os.path.exists(os.path.join(sys.argv[1], "here")), "it to begin")
            task.cancel()
            await asyncio.wait({task})
            os.write(2, b"cancelled" if task.cancelled() else b"went on")
        asyncio.run(main())
    """
    with subprocess.Popen(command(program, tmp_path), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as host:
        assert host.stderr is not None
        assert host.stderr.read() == b"cancelled"  # the test has not read its stdout
        assert host.wait(HANG_TIMEOUT_S) == 0
    assert not is_alive(host.pid)


@pytest.mark.req("T-13", "T-08")
async def test_timeout_message_without_capture_says_output_passed_through(
    capfd: pytest.CaptureFixture[str],
) -> None:
    for limit in TIME_LIMITS_S:
        with pytest.raises(ModelRetry, match="What it printed was let through"):
            await plain("echo seen; sleep 60", timeout=limit, capture_output=False)
        printed = capfd.readouterr().out
        if printed:
            break
    assert printed == "seen\n"


@pytest.mark.req("T-13")
async def test_tool_call_without_capture_passes_output_through(capfd: pytest.CaptureFixture[str]) -> None:
    said = await Bash("tunacode").call('{"command": "echo seen", "capture_output": false}')
    assert capfd.readouterr().out == "seen\n"
    assert said.text.endswith("STDOUT:\n(no output)\n\nSTDERR:\n(no errors)")
    assert said.result is not None
    assert (said.result.out, said.result.spill) == (Captured(total_bytes=5), None)
