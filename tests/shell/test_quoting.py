"""Quoting that always adds quotes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.shell import read
from nacre.shell.quoting import build_safe_command, escape_arg


@pytest.mark.req("K-05")
def test_an_argument_is_quoted_whatever_is_in_it() -> None:
    assert escape_arg("hello") == "'hello'"
    assert escape_arg("it's") == "'it'\\''s'"
    assert escape_arg("") == "''"
    assert build_safe_command("ls", ["-la", "a b", "$(x)"]) == "ls '-la' 'a b' '$(x)'"


@pytest.mark.req("K-05")
@given(st.lists(st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs", "Cn"]))))
def test_what_is_quoted_is_read_back_as_the_very_same_words(words: list[str]) -> None:
    script = read(build_safe_command("echo", words), cwd="/", home="/root")
    assert [command.argv for command in script.commands] == [("echo", *words)]
