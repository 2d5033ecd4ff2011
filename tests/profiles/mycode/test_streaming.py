"""Streaming of events while the command runs."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

import pytest

from nacre import Cancel, InvalidRequest, ToolContext
from nacre.compat.mycode import BashExecutor, StreamEvent, execute_with_streaming
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import TIME_LIMITS_S

EXECUTOR = BashExecutor()


async def events(command: str, **options: object) -> list[StreamEvent]:
    return [event async for event in execute_with_streaming(command, **options)]  # type: ignore[arg-type]


def join_stream(found: list[StreamEvent], stream: str) -> str:
    return "".join(event["data"] for event in found if event["type"] == stream)


@pytest.mark.req("M-07")
async def test_chunks_arrive_while_the_command_runs_and_exit_comes_last(gate: Gate) -> None:
    found: list[StreamEvent] = []
    async for event in execute_with_streaming(f"echo one; {gate.wait}; echo two >&2; exit 3"):
        found.append(event)
        if event == {"type": "stdout", "data": "one\n"}:
            gate.open()  # without a chunk before the end, there would be none
    assert found == [
        {"type": "stdout", "data": "one\n"},
        {"type": "stderr", "data": "two\n"},
        {"type": "exit", "code": 3},
    ]


@pytest.mark.req("M-07")
async def test_silent_command_yields_only_the_exit() -> None:
    assert await events("true") == [{"type": "exit", "code": 0}]


@pytest.mark.req("M-07")
async def test_streaming_takes_cwd_env_and_context(tmp_path: Path) -> None:
    command = 'echo "$PWD $A"'
    assert await events(command, cwd=tmp_path, env={"A": "b"}) == [
        {"type": "stdout", "data": f"{tmp_path} b\n"},
        {"type": "exit", "code": 0},
    ]
    assert join_stream(await events(command, context={"cwd": tmp_path}), "stdout") == f"{tmp_path} \n"


@pytest.mark.req("M-07")
async def test_multibyte_character_split_across_chunks_arrives_whole() -> None:
    found = await events(r"printf 'a\xe2\x82'; sleep 0.01; printf '\xacb\xff'")
    assert join_stream(found, "stdout") == "a€b\ufffd"
    assert found[-1] == {"type": "exit", "code": 0}


@pytest.mark.req("M-07")
async def test_streaming_loses_no_output_of_a_flood() -> None:
    found = await events("seq 1 200000; echo end >&2")
    assert join_stream(found, "stdout") == "".join(f"{n}\n" for n in range(1, 200_001))
    assert join_stream(found, "stderr") == "end\n"


@pytest.mark.req("M-07", "M-11")
async def test_timeout_is_streamed_and_kills_the_whole_tree(life: Lifeline) -> None:
    for limit in TIME_LIMITS_S:
        found = await events(f"{life.hold} printf half >&2; (setsid sleep 60 &); sleep 60", timeout=limit * 1000)
        if join_stream(found, "stderr").startswith("half"):
            break
    assert join_stream(found, "stderr") == f"half\nCommand timed out after {limit}000 ms"
    assert found[-1] == {"type": "exit", "code": 1}
    await life.wait_until_ended()


@pytest.mark.req("M-07")
async def test_closing_the_stream_kills_the_command(life: Lifeline) -> None:
    async with aclosing(execute_with_streaming(f"{life.hold} echo one; sleep 60")) as stream:
        async for event in stream:
            assert event == {"type": "stdout", "data": "one\n"}
            break
    await life.wait_until_ended()


@pytest.mark.req("M-07")
async def test_cancel_kills_the_streamed_command_and_is_reported(life: Lifeline) -> None:
    cancel = Cancel()
    found = []
    async for event in execute_with_streaming(f"{life.hold} echo one; sleep 60", context=ToolContext(cancel=cancel)):
        found.append(event)
        cancel.cancel()
    assert found[1:] == [{"type": "stderr", "data": "Command was cancelled"}, {"type": "exit", "code": 1}]
    await life.wait_until_ended()


@pytest.mark.req("M-07", "M-09")
async def test_refused_command_is_not_run_when_streaming(tmp_path: Path) -> None:
    found = await events("touch here; chmod -R 777 no-such-directory", cwd=tmp_path)
    assert found == [{"type": "stderr", "data": "Insecure permissions"}, {"type": "exit", "code": -1}]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.req("M-07", "M-01")
async def test_streaming_raises_for_invalid_arguments() -> None:
    with pytest.raises(InvalidRequest, match="`timeout` is"):
        await events("true", timeout=-1)
    with pytest.raises(InvalidRequest, match="does not exist"):
        await events("true", cwd="/no/such/place")
    demanding = BashExecutor({"requireDescription": True})
    with pytest.raises(InvalidRequest, match="`description` is missing"):
        await anext(demanding.execute_with_streaming("true"))
    assert await anext(demanding.execute_with_streaming("true", description="Nothing")) == {"type": "exit", "code": 0}


@pytest.mark.req("M-07", "M-11")
async def test_secret_split_across_chunks_is_masked(tmp_path: Path, gate: Gate) -> None:
    (tmp_path / "a").write_text("<0123456")
    (tmp_path / "b").write_text("789abcdef> 012345")
    ctx = ToolContext(working_dir=tmp_path, secrets=("0123456789abcdef",))
    found = []
    async for event in EXECUTOR.execute_with_streaming(f"cat a; {gate.wait}; cat b", context=ctx):
        found.append(event)
        if event == {"type": "stdout", "data": "<"}:
            gate.open()
    assert found[0] == {"type": "stdout", "data": "<"}
    assert join_stream(found, "stdout") == "<[secret]> 012345"


async def test_secret_that_ends_as_it_begins_is_masked_across_chunks(gate: Gate) -> None:
    ctx = ToolContext(secrets=("hunter2secrethunter2", "tok-ABCDEFGH1234"))
    command = f"printf hunter2secrethunter2to; {gate.wait}; echo k-ABCDEFGH1234 aHVudGVyMnNlY3JldGh1bnRlcjI="
    found: list[StreamEvent] = []
    async for event in execute_with_streaming(command, context=ctx):
        found.append(event)
        gate.open()
    gate.open()
    assert join_stream(found, "stdout") == "[secret][secret] [secret]\n"
