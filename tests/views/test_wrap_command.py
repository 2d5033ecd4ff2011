"""Long commands broken over several lines are still the same commands."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.ansi.width import columns
from nacre.shell import read
from nacre.views.console.wrap_command import wrap

QUOTED = ["'c d'", '"e f"', "$(echo g h)", "`i j`", "${k:-l m}", "\\ n", "'", '"', "é"]
WORDS = st.lists(st.sampled_from(["a", "bb", *QUOTED, "&&", "|", ";", "#", "<<E", "(", ")", "{", "}"]), max_size=30)


@pytest.mark.req("T-11")
def test_wrap_breaks_between_words_with_a_backslash() -> None:
    text = "pytest -q tests/a tests/b && echo 'one two three' > log.txt"
    assert wrap(text, 30) == [
        "pytest -q tests/a tests/b && \\",
        "    echo 'one two three' > \\",
        "    log.txt",
    ]


@pytest.mark.req("T-11")
def test_wrapped_command_runs_as_the_original_does() -> None:
    text = "printf '<%s>' one 'two  three' \"$(printf '%s %s' 4 5)\" six\\ seven ${none:-eight nine}; echo done # or so"
    lines = wrap(text, 24)
    assert len(lines) > 3
    for command in (text, "\n".join(lines)):
        done = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
        assert done.stdout == b"<one><two  three><4 5><six seven><eight><nine>done\n"


@given(WORDS, st.integers(10, 60))
@settings(deadline=None)
def test_wrapped_command_has_the_same_commands_when_parsed(words: list[str], width: int) -> None:
    text = " ".join(words)
    lines = wrap(text, width)
    if lines != text.split("\n") and len(lines) > 1:
        before, after = (read(each, cwd="/", home="/h") for each in (text, "\n".join(lines)))
        assert [each.argv for each in before.commands] == [each.argv for each in after.commands]
        assert not after.syntax_error


def test_wrap_keeps_a_word_that_is_too_long() -> None:
    assert wrap(f"echo {'x' * 50} y", 20) == ["echo \\", f"    {'x' * 50} \\", "    y"]


@pytest.mark.parametrize("text", ["cat <<E\n" + "x " * 40 + "\nE", "'" + "x " * 40 + "'", "x" * 90])
def test_wrap_leaves_text_without_break_points_unchanged(text: str) -> None:
    assert "\n".join(wrap(text, 40)) == text


def test_wrap_escapes_invisible_characters_and_long_blanks() -> None:
    assert wrap("echo" + " " * 400 + "; rm x\u202e", 40) == ["echo ⟨400 blanks⟩ ; rm x\\u202e"]


@given(st.text(max_size=100), st.integers(1, 60))
@settings(deadline=None)
def test_wrapped_lines_are_printable_for_any_text(text: str, width: int) -> None:
    assert all(columns(line) >= 0 and line.isprintable() for line in wrap(text, width))
