"""`bash`: its result for commands that end in every possible way."""

from __future__ import annotations

import asyncio
import pickle
import re
from pathlib import Path

import pytest

from nacre import Cancel, Limits, ToolContext
from nacre.compat.tachikoma import (
    BashOptions,
    BashResult,
    ExecutionMetadata,
    Io,
    PrimitiveContext,
    PrimitiveError,
    Validation,
    bash,
)
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import TIME_LIMITS_S

CTX = PrimitiveContext("/tmp", operation_id="op-1")


def expect_end(result: BashResult, code: int, out: str = "", err: str = "", *, timed_out: bool = False) -> BashResult:
    """Return the result expected for this end, with the actual duration."""
    metadata = ExecutionMetadata(duration=result.metadata.duration, operation_id="op-1", primitive="bash")
    return BashResult(exit_code=code, stdout=out, stderr=err, timed_out=timed_out, metadata=metadata)


@pytest.mark.req("K-01")
@pytest.mark.parametrize(
    ("command", "code", "out", "err"),
    [
        pytest.param("echo 'hello world'", 0, "hello world\n", "", id="stdout"),
        pytest.param("exit 42", 42, "", "", id="exit code"),
        pytest.param("echo error >&2", 0, "", "error\n", id="stderr"),
        pytest.param("echo out; echo err >&2; exit 3", 3, "out\n", "err\n", id="both"),
        pytest.param("kill -9 $$", -1, "", "", id="killed"),
        pytest.param("echo first; kill -TERM $$", -1, "first\n", "", id="ended"),
        pytest.param("exit 255", 255, "", "", id="the largest code"),
        pytest.param("bash -c 'kill -9 $$'; exit $?", 137, "", None, id="a signal that another shell reports"),
        pytest.param("cat; echo done", 0, "done\n", "", id="stdin is empty"),
        pytest.param(r"printf 'a\xff\xfeb'", 0, "a\ufffd\ufffdb", "", id="bad bytes"),
        pytest.param(r"printf 'a\0b'", 0, "a\0b", "", id="a NUL byte"),
        pytest.param("printf 'é世🐚'", 0, "é世🐚", "", id="wide characters"),
        pytest.param("echo é && echo '\\' \"$((1 + 1))\"", 0, "é\n\\ 2\n", "", id="the text as it is"),
    ],
)
async def test_result_has_exit_code_and_both_streams(command: str, code: int, out: str, err: str | None) -> None:
    result = await bash(CTX, command)
    assert result == expect_end(result, code, out, result.stderr if err is None else err)
    assert result.metadata.duration >= 0


@pytest.mark.req("K-01")
async def test_command_not_found_is_a_result_with_exit_code_127() -> None:
    result = await bash(CTX, "no-such-command-here")
    assert result == expect_end(result, 127, "", result.stderr)
    assert "no-such-command-here: command not found" in result.stderr


@pytest.mark.req("K-01", "K-02")
async def test_timeout_returns_partial_output_and_kills_the_whole_tree(life: Lifeline) -> None:
    command = f"{life.hold} echo partial; echo oops >&2; (setsid sleep 999 &); sleep 999"
    for limit in TIME_LIMITS_S:
        result = await bash(CTX, command, BashOptions().timeout(limit))
        if result.stderr:
            break
    assert result == expect_end(result, -1, "partial\n", "oops\n", timed_out=True)
    await life.wait_until_ended()


async def test_cancel_of_the_context_kills_the_command(life: Lifeline) -> None:
    cancel = Cancel()
    ctx = PrimitiveContext("/tmp", operation_id="op-1", base=ToolContext(cancel=cancel))
    running = asyncio.ensure_future(bash(ctx, f"{life.hold} echo partial; sleep 999"))
    await life.wait_until_held()
    cancel.cancel()
    result = await running
    assert result == expect_end(result, -1, result.stdout)
    await life.wait_until_ended()


@pytest.mark.req("K-01")
async def test_metadata_carries_the_operation_id_of_the_context() -> None:
    one, other = PrimitiveContext("/tmp"), PrimitiveContext("/tmp")
    first, second = await bash(one, "true"), await bash(one, "true")
    third = await bash(other, "true")
    assert first.metadata.operation_id == second.metadata.operation_id == one.operation_id
    assert third.metadata.operation_id == other.operation_id != one.operation_id
    assert first.metadata.primitive == "bash"


async def test_concurrent_runs_keep_their_own_operation_ids() -> None:
    contexts = [PrimitiveContext("/tmp", operation_id=f"op-{number}") for number in range(20)]
    results = await asyncio.gather(*(bash(ctx, f"echo {ctx.operation_id}") for ctx in contexts))
    assert [result.stdout for result in results] == [f"{ctx.operation_id}\n" for ctx in contexts]
    assert [result.metadata.operation_id for result in results] == [ctx.operation_id for ctx in contexts]


async def test_background_job_is_kept_as_a_task_named_in_the_metadata(gate: Gate, life: Lifeline) -> None:
    result = await bash(CTX, f"({life.hold} {gate.wait}) & echo started")
    assert (result.exit_code, result.stdout) == (0, "started\n")
    assert result.metadata.task is not None
    assert re.fullmatch(r"bash-[0-9a-f]{8}", result.metadata.task)
    gate.open()
    await life.wait_until_ended()


async def test_leftovers_option_can_wait_for_background_jobs() -> None:
    result = await bash(CTX, "(sleep 0.05; echo bg) & echo fg", BashOptions().leftovers("wait"))
    assert result == expect_end(result, 0, "fg\nbg\n")


async def test_missing_working_directory_raises_io(tmp_path: Path) -> None:
    ctx = PrimitiveContext(tmp_path / "gone")
    with pytest.raises(Io, match="does not exist"):
        await bash(ctx, "pwd")


@pytest.mark.parametrize(
    ("command", "options"),
    [
        pytest.param("a\0b", BashOptions(), id="a NUL byte"),
        pytest.param("echo \ud800", BashOptions(), id="half a character"),
        pytest.param("true", BashOptions().env("A=B", "c"), id="a name that is none"),
        pytest.param("true", BashOptions().working_dir("a\0b"), id="a path that is none"),
    ],
)
async def test_invalid_command_or_option_raises_validation(command: str, options: BashOptions) -> None:
    with pytest.raises(Validation):
        await bash(CTX, command, options)


async def test_command_that_is_not_a_string_raises_validation() -> None:
    with pytest.raises(Validation, match="not a string"):
        await bash(CTX, 7)  # type: ignore[arg-type]


async def test_errors_of_invalid_commands_are_primitive_errors() -> None:
    for command in ("", "mkfs", "a\0b"):
        with pytest.raises(PrimitiveError):
            await bash(CTX, command)


async def test_secrets_are_masked_even_when_cut_by_the_output_limit() -> None:
    base = ToolContext(secrets=("s3cret-token-value",))
    ctx = PrimitiveContext("/tmp", base=base)
    options = BashOptions().env("S", "s3cret-token-value")
    result = await bash(ctx, 'echo "$S"; echo "$S" >&2', options)
    assert (result.stdout, result.stderr) == ("[secret]\n", "[secret]\n")
    cut = await bash(ctx, 'printf "%s" "12345$S"', options.max_output(15))
    assert cut.stdout == "12345[secret]"
    cut = await bash(ctx, 'printf "%s" "12345$S"; printf "%100s"', options.max_output(15))
    assert cut.stdout == "12345[secret]"


@pytest.mark.linux
async def test_open_files_limit_of_the_context_applies() -> None:
    ctx = PrimitiveContext("/tmp", operation_id="op-1", base=ToolContext(limits=Limits(open_files=64)))
    result = await bash(ctx, "ulimit -n")
    assert result == expect_end(result, 0, "64\n")


def test_results_and_errors_survive_pickling() -> None:
    result = BashResult(
        exit_code=1,
        stdout="o",
        stderr="e",
        timed_out=False,
        metadata=ExecutionMetadata(duration=0.5, operation_id="x"),
    )
    assert pickle.loads(pickle.dumps(result)) == result
    assert pickle.loads(pickle.dumps(BashOptions().env("A", "b"))) == BashOptions().env("A", "b")
    again = pickle.loads(pickle.dumps(Validation("Empty command")))
    assert (str(again), again.message) == ("Empty command", "Empty command")
