"""Streams over the limit: two halves, and the exact number of missing characters between them."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import pytest

from nacre import Bash, Limits, ToolContext
from nacre.compat.mycode import BashExecutor
from nacre.profiles.mycode import mycode
from nacre.types import MIB
from nacre.views.answers.json_object import shorten_stream
from nacre.views.answers.stream_text import StreamText

BASH = Bash("mycode")
PYTHON = f"{shlex.quote(sys.executable)} -IS"


def print_command(text: str, stream: str = "stdout") -> str:
    """Return a command that prints the value of a Python expression."""
    code = f"import sys; sys.{stream}.buffer.write(({text}).encode())"
    return f"{PYTHON} -c {shlex.quote(code)}"


async def data(command: str, bash: Bash = BASH, ctx: ToolContext | None = None) -> dict[str, Any]:
    got = await bash.call({"command": command}, ctx)
    return {name: value for name, value in got.data.items() if name != "duration_ms"}


def marker(count: int) -> str:
    return f"\n\n... ({count} characters truncated) ...\n\n"


@pytest.mark.req("M-08")
@pytest.mark.parametrize("length", [29_999, 30_000])
async def test_stream_up_to_the_limit_is_not_truncated(length: int) -> None:
    got = await data(print_command(f"'x' * {length}"))
    assert got == {"success": True, "stdout": "x" * length, "stderr": "", "exit_code": 0, "truncated": False}


@pytest.mark.req("M-08")
@pytest.mark.parametrize(("length", "missing"), [(30_001, 1), (45_678, 15_678), (1_030_000, 1_000_000)])
async def test_stream_over_the_limit_keeps_two_halves_and_counts_the_rest(length: int, missing: int) -> None:
    got = await data(print_command(f"'a' * 15000 + 'x' * {length - 30_000} + 'b' * 15000"))
    expected = f"{'a' * 15_000}{marker(missing)}{'b' * 15_000}"
    assert got == {"success": True, "stdout": expected, "stderr": "", "exit_code": 0, "truncated": True}


@pytest.mark.req("M-08")
async def test_stderr_alone_over_the_limit_is_truncated_and_sets_the_flag() -> None:
    got = await data(f"echo short; {print_command('chr(98) * 30001', 'stderr')}; exit 4")
    expected = f"{'b' * 15_000}{marker(1)}{'b' * 15_000}"
    assert got == {"success": False, "stdout": "short\n", "stderr": expected, "exit_code": 4, "truncated": True}


@pytest.mark.req("M-08")
@pytest.mark.parametrize("letter", ["é", "€", "😀", "日"])
@pytest.mark.parametrize("length", [30_000, 30_001])
async def test_output_limit_counts_characters_not_bytes(letter: str, length: int) -> None:
    got = (await data(print_command(f"'\\U{ord(letter):08x}' * {length}")))["stdout"]
    half = letter * 15_000
    assert got == (half + half if length == 30_000 else f"{half}{marker(1)}{half}")


@pytest.mark.req("M-08")
@pytest.mark.parametrize("letter", ["x", "😀"])
async def test_missing_characters_beyond_memory_are_counted_exactly(letter: str) -> None:
    """50 MB and more, of which memory holds one megabyte."""
    count = 13_000_000
    command = print_command(f"'<' + '\\U{ord(letter):08x}' * {count} + '>'")
    got = await data(f"{command}; {command} >&2" if letter == "x" else command)
    expected = f"<{letter * 14_999}{marker(count + 2 - 30_000)}{letter * 14_999}>"
    assert got["stdout"] == expected
    assert got["stderr"] == (expected if letter == "x" else "")
    assert got["truncated"] is True


@pytest.mark.req("M-08", "M-03")
@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (11, "hello world"),
        (10, f"hello{marker(1)}world"),
        (9, f"hell{marker(2)}orld"),
        (3, f"h{marker(8)}d"),
        (1, marker(10)),
        (0, marker(11)),
    ],
)
async def test_configured_output_limit_applies_with_halves_rounded_down(limit: int, expected: str) -> None:
    assert BashExecutor({"maxOutputSize": limit}).truncate("hello world") == expected
    got = await data("printf 'hello world'", Bash(mycode(maxOutputSize=limit)))
    assert (got["stdout"], got.get("truncated", False)) == (expected, limit < 11)


@pytest.mark.req("M-08", "M-03")
async def test_output_limit_of_more_than_a_megabyte_is_honored() -> None:
    size = 600_000
    bash = Bash(mycode(maxOutputSize=size))
    command = print_command(f"'\\U0001f600' * {size}")
    assert (await data(command, bash))["stdout"] == "😀" * size
    got = await data(f"printf x; {command}", bash)
    assert got["stdout"] == f"x{'😀' * (size // 2 - 1)}{marker(1)}{'😀' * (size // 2)}"


@pytest.mark.req("M-08")
async def test_missing_characters_are_exact_with_less_memory_than_the_limit() -> None:
    got = await data("printf '%02000d' 7", ctx=ToolContext(limits=Limits(output=100)))
    assert got["stdout"] == f"{'0' * 50}{marker(1900)}{'0' * 49}7"
    assert got["truncated"] is True


@pytest.mark.req("M-08", "M-02")
async def test_failure_message_in_stderr_is_truncated_like_stderr() -> None:
    command = f"false {'x' * 40_000}"
    got = await data(command)
    whole = f"Command failed: {command}"
    assert got["stderr"] == f"{whole[:15_000]}{marker(len(whole) - 30_000)}{whole[-15_000:]}"
    assert got["truncated"] is True


@pytest.mark.req("M-08", "M-11")
async def test_secret_at_the_truncation_point_is_masked_whole() -> None:
    secret = "0123456789abcdef"
    ctx = ToolContext(secrets=(secret,))
    got = await data(print_command(f"'x' * 14_992 + '{secret}' + 'y' * 30_000"), ctx=ctx)
    assert got["stdout"] == f"{'x' * 14_992}[secret]{marker(15_000)}{'y' * 15_000}"


@pytest.mark.req("M-08")
async def test_fifty_megabytes_of_random_bytes_are_truncated() -> None:
    got = await data(f"head -c {50 * MIB} /dev/urandom")
    assert got["truncated"] is True
    assert len(got["stdout"]) < 30_100


def test_shorten_stream_returns_short_text_unchanged() -> None:
    text = "x" * 30_000
    assert shorten_stream(StreamText(text), 30_000) == (text, False)
