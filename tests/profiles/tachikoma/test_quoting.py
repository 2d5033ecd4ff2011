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
def test_a_word_is_always_quoted(word: str, quoted: str) -> None:
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
def test_a_command_is_built_from_words(cmd: str, args: list[str], text: str) -> None:
    assert CommandValidator.build_safe_command(cmd, args) == text


@pytest.mark.req("K-05")
async def test_words_reach_the_program_as_they_are() -> None:
    command = CommandValidator.build_safe_command("printf '%s\\0'", WORDS)
    assert (await bash(PrimitiveContext("/tmp"), command)).stdout.split("\0") == [*WORDS, ""]


def test_one_word_is_no_list() -> None:
    with pytest.raises(Validation, match="Give a list"):
        CommandValidator.build_safe_command("ls", "-la")
