"""Events while a command runs: their order, their bytes, and what happens when the consumer stops reading."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path

import pytest

from nacre import Bash, Chunk, Ended, InvalidRequest, Profile, Request, Started, ToolContext
from nacre.base.frozen import replace
from nacre.result import Event, Exited, TimedOut
from nacre.types import Mode
from tests.support.census import is_alive, memory
from tests.support.lifeline import Gate
from tests.support.waiting import until, until_steady

MIB = 1024 * 1024


async def collect(bash: Bash, request: Request | str) -> list[Event]:
    return [event async for event in bash.stream(request)]


@pytest.mark.req("M-07")
async def test_stream_yields_started_then_chunks_then_ended(bash: Bash, gate: Gate) -> None:
    events = []
    async for event in bash.stream(f"echo out; {gate.wait}; echo err >&2; {gate.wait}; exit 3"):
        events.append(event)
        if isinstance(event, Chunk):
            gate.open()
    started, *chunks, ended = events
    assert isinstance(started, Started)
    assert isinstance(ended, Ended)
    assert chunks == [Chunk("stdout", b"out\n"), Chunk("stderr", b"err\n")]
    assert (ended.result.pid, ended.result.outcome, ended.result.output) == (started.pid, Exited(3), "out\nerr\n")


PROFILE = Profile(name="timed", timeout=20.0, slow_timeout=40.0, max_timeout=60.0)


@pytest.mark.parametrize(
    ("request_", "profile", "timeout"),
    [
        (Request("true"), PROFILE, 20.0),
        (Request("true", mode="slow"), PROFILE, 40.0),
        (Request("true", timeout=50.0), PROFILE, 50.0),
        (Request("true", timeout=90.0), PROFILE, 60.0),
        (Request("true", yield_after=5.0), PROFILE, float("inf")),
        (Request("true", yield_after=5.0, timeout=50.0), PROFILE, 50.0),
        (Request("true"), replace(PROFILE, on_timeout="promote"), float("inf")),
        (Request("true", mode="background"), PROFILE, float("inf")),
        (Request("true", mode="background", timeout=90.0), PROFILE, 90.0),
    ],
)
async def test_started_event_has_the_effective_timeout(
    tmp_path: Path, request_: Request, profile: Profile, timeout: float
) -> None:
    events = [event async for event in Bash(profile).stream(request_, ToolContext(output_dir=tmp_path))]
    assert isinstance(started := events[0], Started)
    assert started.timeout == timeout


@pytest.mark.parametrize("mode", ["default", "background"])
async def test_started_event_has_a_redactor_that_masks_the_secrets(bash: Bash, tmp_path: Path, mode: Mode) -> None:
    ctx = ToolContext(secrets=("hunter2hunter2",), output_dir=tmp_path)
    events = [event async for event in bash.stream(Request("true", mode=mode), ctx)]
    assert isinstance(started := events[0], Started)
    assert started.redactor is not None
    assert started.redactor.mask("it is hunter2hunter2") == "it is [secret]"
    assert "hunter2" not in repr(started)


@pytest.mark.req("M-07")
async def test_output_arrives_while_the_command_runs(bash: Bash, gate: Gate) -> None:
    seen = []
    async for event in bash.stream(f"for i in 1 2 3; do echo $i; {gate.wait}; done"):
        if isinstance(event, Chunk):
            seen.append(event.text)
            gate.open()
    assert seen == ["1\n", "2\n", "3\n"]


async def test_silent_command_yields_no_chunks(bash: Bash) -> None:
    assert [type(event) for event in await collect(bash, "true")] == [Started, Ended]


async def test_run_returns_the_result_of_the_stream(bash: Bash) -> None:
    last = (await collect(bash, "echo x; exit 4"))[-1]
    assert isinstance(last, Ended)
    result = await bash.run("echo x; exit 4")
    assert (result.outcome, result.out, result.both) == (last.result.outcome, last.result.out, last.result.both)


@pytest.mark.parametrize("merge", [False, True])
async def test_chunks_add_up_to_the_output_of_the_result(bash: Bash, merge: bool) -> None:
    text = r"for i in {1..300}; do echo line $i; printf '\xe2\x82\xac %s\n' $i >&2; done"
    events = await collect(bash, Request(text, merge=merge))
    chunks = [event for event in events if isinstance(event, Chunk)]
    ended = events[-1]
    assert isinstance(ended, Ended)
    result = ended.result
    both = b"".join(chunk.data for chunk in chunks)
    out = b"".join(chunk.data for chunk in chunks if chunk.stream == "stdout")
    err = b"".join(chunk.data for chunk in chunks if chunk.stream == "stderr")
    assert (result.both.head, result.out.head, result.err.head) == (both, out, err)
    assert "".join(chunk.text for chunk in chunks) == result.output
    if merge:
        assert err == b""
        assert result.output == "".join(f"line {i}\n€ {i}\n" for i in range(1, 301))


async def test_stream_yields_all_output_even_beyond_the_memory_limit(bash: Bash) -> None:
    total, last = 0, None
    async for event in bash.stream("head -c 50000000 /dev/zero"):
        if isinstance(event, Chunk):
            total += len(event.data)
        elif isinstance(event, Ended):
            last = event.result
    assert last is not None
    assert (total, last.total_bytes) == (50_000_000, 50_000_000)


async def test_paused_consumer_blocks_the_command_with_bounded_memory(bash: Bash, tmp_path: Path) -> None:
    progress = tmp_path / "progress"
    text = f"for ((i = 1; i <= 1000; i++)); do head -c 65536 /dev/zero; echo $i >'{progress}'; done"

    def read_progress() -> int:
        content = progress.read_text() if progress.exists() else ""
        return int(content or 0)

    total, stopped = 0, False
    async for event in bash.stream(text):
        if isinstance(event, Chunk):
            total += len(event.data)
            if not stopped:
                stopped = True
                before, _ = memory(os.getpid())
                blocks = await until_steady(read_progress)
                after, _ = memory(os.getpid())
                assert 0 < blocks * 65536 < 16 * MIB
                assert after - before < 16 * MIB
        elif isinstance(event, Ended):
            assert event.result.outcome == Exited(0)
    assert total == 1000 * 65536


async def test_timeout_kills_a_command_whose_output_is_not_read(bash: Bash) -> None:
    def is_over(pid: int) -> bool:
        return not is_alive(pid)

    outcome = None
    async for event in bash.stream(Request("yes", timeout=0.5)):
        if isinstance(event, Started):
            await until(partial(is_over, event.pid), "the end of the command")
        elif isinstance(event, Ended):
            outcome = event.result.outcome
    assert outcome == TimedOut(0.5)


async def test_concurrent_streams_do_not_mix_their_output(bash: Bash) -> None:
    async def one(i: int) -> bool:
        text = f"yes {i:04} | head -c 500000; yes {i + 5000:04} | head -c 500000 >&2"
        seen = {"stdout": b"", "stderr": b""}
        async for event in bash.stream(text):
            if isinstance(event, Chunk):
                seen[event.stream] += event.data
        return seen == {"stdout": b"%04d\n" % i * 100_000, "stderr": b"%04d\n" % (i + 5000) * 100_000}

    assert await asyncio.gather(*(one(i) for i in range(20))) == [True] * 20


async def test_invalid_request_is_raised_when_the_stream_is_first_read(bash: Bash) -> None:
    stream = bash.stream("")
    with pytest.raises(InvalidRequest):
        await anext(stream)


async def test_output_printed_just_before_exit_is_captured(bash: Bash) -> None:
    for _ in range(30):
        result = await bash.run("head -c 60000 /dev/zero; head -c 60000 /dev/zero >&2; echo last; exec echo end >&2")
        assert (result.out.total_bytes, result.err.total_bytes) == (60_005, 60_004)
