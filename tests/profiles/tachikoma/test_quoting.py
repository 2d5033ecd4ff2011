"""`escape_arg` and `build_safe_command`: every word reaches the program unchanged."""

from __future__ import annotations

import pytest

from nacre.compat.tachikoma import CommandValidator, PrimitiveContext, Validation, bash

WORDS = [
    "", " ", "a b", "it's", "''", "'", "\\", "\\'", "$HOME", "`id`", "$(id)", "*", "~", "-n", "!x", "a\nb", "\t",
    "é世🐚", '"', "; exit 3", "&& false", "| cat", "> f", "#", "{a,b}", "[x]", "a\\nb",
]  # fmt: skip


@pytest.mark.req("K-05")
@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("hello", "'hello'"),
        ("it's", "'it'\\''s'"),
        ("", "''"),
        ("''", "''\\'''\\'''"),
        ("a\nb", "'a\nb'"),
    ],
)
def test_escape_arg_always_quotes(word: str, quoted: str) -> None:
    assert CommandValidator.escape_arg(word) == quoted


@pytest.mark.req("K-05")
@pytest.mark.parametrize(
    ("cmd", "args", "text"),
    [
        ("ls", ["-la", "my dir"], "ls '-la' 'my dir'"),
        ("echo", ["it's"], "echo 'it'\\''s'"),
        ("true", [], "true "),
    ],
)
def test_build_safe_command_quotes_each_argument(cmd: str, args: list[str], text: str) -> None:
    assert CommandValidator.build_safe_command(cmd, args) == text


@pytest.mark.req("K-05")
async def test_quoted_arguments_reach_the_program_unchanged() -> None:
    command = CommandValidator.build_safe_command("printf '%s\\0'", WORDS)
    assert (await bash(PrimitiveContext("/tmp"), command)).stdout.split("\0") == [*WORDS, ""]


def test_arguments_given_as_a_string_are_refused() -> None:
    with pytest.raises(Validation, match="Give a list"):
        CommandValidator.build_safe_command("ls", "-la")
