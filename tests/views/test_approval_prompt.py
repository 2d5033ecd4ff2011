"""The question that a person is asked: all of what would run, and no line that could pass for one of ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre import Bash, Decision, Policy, Request, ToolContext, Verdict
from nacre.ansi.width import columns
from nacre.base.frozen import replace
from nacre.profiles import DEFAULT
from nacre.verdict import Finding, Given, Matter
from nacre.views.console.approval_prompt import question
from nacre.views.console.escape import in_ascii, plainly

ASKS = Bash(replace(DEFAULT, policy=Policy(otherwise=Decision.ASK)))


def verdict(matter: Matter, words: str = "rm x") -> Verdict:
    return Verdict(Decision.ASK, (Finding("some-rule", Decision.ASK, 0, 4, words, "is odd", "do not"),), matter=matter)


def test_the_reason_stands_just_above_the_question_with_the_line_it_is_about() -> None:
    matter = Matter("rm x\n" + "true\n" * 60, "/w", (Given("stdin", "a\n" * 30), Given("$X", "rm y", True)))
    lines = question(verdict(matter), 80)
    assert lines[:3] == ["nacre: this would run in /w:", "  │ rm x", "  │ true"]
    assert lines[62:64] == ["nacre: with stdin:", "  │ a"]
    assert lines[-4:] == [
        "nacre: … and 20 more characters, which nothing is known to run",
        "nacre: with $X, which it would run:",
        "  │ rm y",
        "nacre: some-rule, line 1: `rm x` is odd. Instead: do not",
    ]


PIECES = [*"ab \n\t\x1b", "nacre: ", "Run it?", "é", "漢", "—", "\u0301", "\u202e", "\U0001f600", " " * 40]
TEXT = st.lists(st.sampled_from(PIECES), max_size=80).map("".join)


@pytest.mark.req("P-011")
@given(TEXT, TEXT, st.integers(20, 90), st.booleans())
@settings(deadline=None)
def test_no_row_is_as_wide_as_the_terminal_and_together_they_are_all_of_it(
    command: str, words: str, width: int, utf8: bool
) -> None:
    lines = question(verdict(Matter(command, f"/{words}"), words=words), width, utf8=utf8)
    first, more = ("  │ ", "  ┆ ") if utf8 else ("  | ", "  : ")
    shown: list[str] = []
    for line in lines:
        assert columns(line) < width
        assert line.isprintable()
        assert utf8 or line.isascii()
        if line.startswith(first):
            shown.append(line.removeprefix(first))
        elif line.startswith(more):
            shown[-1] += line.removeprefix(more)
        else:
            assert line.startswith(("nacre: ", "       "))
    given = [plainly(line) for line in command.strip("\n").split("\n")]
    assert shown == (given if utf8 else [in_ascii(line) for line in given])


async def asked(command: str, where: Path, **given: object) -> Matter:
    seen: list[Verdict] = []

    def approve(verdict: Verdict) -> bool:
        seen.append(verdict)
        return False

    ctx = ToolContext(working_dir=where, approve=approve)
    await ASKS.run(Request(command, **given), ctx)  # type: ignore[arg-type]
    assert seen[0].matter is not None
    return seen[0].matter


async def test_an_approver_is_given_all_that_comes_with_the_command(tmp_path: Path) -> None:
    where = str(tmp_path)
    assert await asked("touch a", tmp_path) == Matter("touch a", where)
    assert await asked("sh", tmp_path, stdin="touch a\n") == Matter("sh", where, (Given("stdin", "touch a\n", True),))
    assert await asked("cat >a", tmp_path, stdin="b") == Matter("cat >a", where, (Given("stdin", "b"),))
    assert await asked("$X", tmp_path, env={"X": "touch $Y", "Y": "a", "Z": "b"}) == Matter(
        "$X", where, (Given("$X", "touch $Y"), Given("$Y", "a"), Given("$Z", "b"))
    )
    assert await asked('sh -c "$X; true"', tmp_path, env={"X": "touch a"}) == Matter(
        'sh -c "$X; true"', where, (Given("$X", "touch a"), Given("what sh is given", "touch a; true", True))
    )


async def test_a_secret_is_not_shown_to_whoever_stands_behind_the_person(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    matter = await asked("touch $GITHUB_TOKEN", tmp_path, env={"GITHUB_TOKEN": secret})
    assert matter.given == (Given("$GITHUB_TOKEN", "(a secret)"),)
