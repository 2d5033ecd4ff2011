"""Limits on each stream, exact to the byte; a command that writes more neither waits nor dies of it."""

from __future__ import annotations

import os

import pytest

from nacre.compat.tachikoma import BashOptions, PrimitiveContext, bash
from tests.support.census import fds
from tests.support.waiting import TIME_LIMITS_S, until

CTX = PrimitiveContext("/tmp")
LIMIT = 10 * 1024 * 1024
SMALL = 1000


def print_command(count: int) -> str:
    return f"head -c {count} /dev/zero | tr '\\0' x"


@pytest.mark.req("K-02")
@pytest.mark.parametrize("count", [SMALL - 1, SMALL, SMALL + 1, 2 * SMALL - 1, 2 * SMALL, 2 * SMALL + 1, 300 * SMALL])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_output_is_kept_up_to_the_limit_and_the_rest_is_counted(count: int, stream: str) -> None:
    redirect = "" if stream == "stdout" else ">&2"
    result = await bash(CTX, f"{{ {print_command(count)}; }} {redirect}; exit 3", BashOptions().max_output(SMALL))
    shown, left_out = "x" * min(count, SMALL), max(0, count - SMALL)
    metadata = result.metadata
    assert result.exit_code == 3
    if stream == "stdout":
        assert (result.stdout, result.stderr) == (shown, "")
        assert (metadata.stdout_left_out, metadata.stderr_left_out) == (left_out, 0)
    else:
        assert (result.stdout, result.stderr) == ("", shown)
        assert (metadata.stdout_left_out, metadata.stderr_left_out) == (0, left_out)


@pytest.mark.req("K-02")
@pytest.mark.parametrize("count", [LIMIT - 1, LIMIT, LIMIT + 1], ids=["one below", "at", "one above"])
async def test_default_output_limit_is_ten_megabytes(count: int) -> None:
    result = await bash(CTX, print_command(count))
    assert len(result.stdout) == min(count, LIMIT)
    assert result.metadata.stdout_left_out == max(0, count - LIMIT)


@pytest.mark.req("K-02")
async def test_output_limit_applies_to_each_stream() -> None:
    command = f"{print_command(SMALL + 5)}; {{ {print_command(SMALL + 7)}; }} >&2"
    result = await bash(CTX, command, BashOptions().max_output(SMALL))
    assert (result.stdout, result.stderr) == ("x" * SMALL, "x" * SMALL)
    assert (result.metadata.stdout_left_out, result.metadata.stderr_left_out) == (5, 7)


async def test_truncation_keeps_the_beginning_of_the_output() -> None:
    result = await bash(CTX, "seq 1 100000", BashOptions().max_output(20))
    assert result.stdout == "1\n2\n3\n4\n5\n6\n7\n8\n9\n10"


async def test_output_limit_may_be_zero() -> None:
    result = await bash(CTX, "echo hello", BashOptions().max_output(0))
    assert (result.exit_code, result.stdout, result.metadata.stdout_left_out) == (0, "", 6)


@pytest.mark.parametrize("character", ["é", "世", "🐚"])
@pytest.mark.parametrize("more", [0, 1, 2, 3])
@pytest.mark.parametrize("after", ["", "%9000s"], ids=["all held", "much dropped"])
async def test_character_at_the_output_limit_is_whole_or_missing(character: str, more: int, after: str) -> None:
    size = len(character.encode())
    result = await bash(CTX, f"printf 'ab{character}{character}{after}'", BashOptions().max_output(2 + more))
    whole = min(more // size, 2)
    assert result.stdout == "ab" + character * whole + ""
    assert result.metadata.stdout_left_out == (len(after) and 9000) + (2 - whole) * size


async def test_invalid_utf8_at_the_output_limit_is_replaced() -> None:
    result = await bash(CTX, r"printf 'ab\xff\xffcd'", BashOptions().max_output(3))
    assert (result.stdout, result.metadata.stdout_left_out) == ("ab\ufffd", 3)


async def test_fifty_megabytes_are_read_to_the_end_and_leak_no_fd() -> None:
    await bash(CTX, "true")
    before = fds(os.getpid())
    result = await bash(CTX, f"{print_command(50 * 1024 * 1024)}; echo finished >&2")
    assert (result.exit_code, result.stderr) == (0, "finished\n")
    assert (len(result.stdout), result.metadata.stdout_left_out) == (LIMIT, 40 * 1024 * 1024)
    await until(lambda: fds(os.getpid()) == before, "as many descriptors as before")


async def test_timed_out_flood_is_kept_up_to_the_output_limit() -> None:
    for limit in TIME_LIMITS_S:
        result = await bash(CTX, "yes", BashOptions().timeout(limit).max_output(SMALL))
        if result.stdout:
            break
    assert (result.exit_code, result.timed_out, result.stdout) == (-1, True, "y\n" * (SMALL // 2))
    assert result.metadata.stdout_left_out > 0
