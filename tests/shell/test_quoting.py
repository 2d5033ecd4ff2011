"""Quoting that always adds quotes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.shell import read
from nacre.shell.quoting import build_safe_command, escape_arg


@pytest.mark.req("K-05")
def test_arguments_are_always_quoted() -> None:
    assert escape_arg("hello") == "'hello'"
    assert escape_arg("it's") == "'it'\\''s'"
    assert escape_arg("") == "''"
    assert build_safe_command("ls", ["-la", "a b", "$(x)"]) == "ls '-la' 'a b' '$(x)'"


@pytest.mark.req("K-05")
@given(st.lists(st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs", "Cn"]))))
def test_quoted_arguments_are_parsed_back_unchanged(words: list[str]) -> None:
    script = read(build_safe_command("echo", words), cwd="/", home="/root")
    assert [command.argv for command in script.commands] == [("echo", *words)]
