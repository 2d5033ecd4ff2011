"""Options as programs parse them: clusters, values, abbreviated names."""

from __future__ import annotations

import pytest

from nacre.shell import read
from nacre.shell.options import OptionSpec, spec_for, spec_from_letters

SHAPE = OptionSpec("uo", "user output", flags="unique verbose", attached="i")


@pytest.mark.parametrize(
    ("words", "options", "operands"),
    [
        ("-u root ls", [("-u", "root")], ["ls"]),
        ("-uroot ls", [("-u", "root")], ["ls"]),
        ("-vu root ls", [("-v", None), ("-u", "root")], ["ls"]),
        ("--user root ls", [("--user", "root")], ["ls"]),
        ("--us root ls", [("--user", "root")], ["ls"]),
        ("--us=root ls", [("--user", "root")], ["ls"]),
        ("--uni ls", [("--unique", None)], ["ls"]),
        ("--other ls", [("--other", None)], ["ls"]),
        ("-i.bak ls", [("-i", ".bak")], ["ls"]),
        ("-i ls", [("-i", None)], ["ls"]),
        ("ls -o -v", [("-o", "-v")], ["ls"]),
        ("-- -u root", [], ["-u", "root"]),
        ("- -u", [("-u", None)], ["-"]),
    ],
)
def test_options_are_separated_from_their_values(
    words: str, options: list[tuple[str, str | None]], operands: list[str]
) -> None:
    given = SHAPE.parse(words.split())
    assert (given.options, given.operands) == (options, operands)


@pytest.mark.parametrize("words", ["-u root", "--us root", "-v --user=root", "-vuroot", ""])
def test_wrapper_options_end_where_the_wrapped_command_begins(words: str) -> None:
    argv = ("sudo", *words.split(), "rm", "-u", "x")
    assert SHAPE.command(argv) == ("rm", "-u", "x")


def test_program_with_single_dash_words_has_no_option_clusters() -> None:
    shape = spec_for(("-out", "-c"))
    assert shape.parse(["-tac", "x", "-out", "f"]).operands == ["x"]
    assert shape.parse(["-out", "f"]).values("-out") == ["f"]


def test_last_occurrence_of_a_switch_wins() -> None:
    shape = spec_from_letters("", "force tag=")
    assert shape.parse(["--forc"]).is_set("--force")
    assert not shape.parse(["--force", "--no-forc"]).is_set("--force")
    assert shape.parse(["--ta", "x"]).values("--tag") == ["x"]


@pytest.mark.parametrize(
    ("text", "found"),
    [("mkfs.ext4 -n /dev/x", True), ("mkfs.ext4 -L -n /dev/x", False), ("mkfs.ext4 -Ln /dev/x", False)],
)
def test_option_value_that_looks_like_an_option_is_not_a_flag(text: str, found: bool) -> None:
    command = read(text, cwd="/", home="/root").commands[0]
    assert command.has_flag("-n") is found
    assert command.operands() == ["/dev/x"]
