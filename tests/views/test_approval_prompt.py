"""The approval prompt: all of what would run, and no line that imitates one of ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre import Bash, Decision, Policy, Request, ToolContext, Verdict
from nacre.ansi.width import columns
from nacre.base.frozen import replace
from nacre.profiles import DEFAULT
from nacre.verdict import ApprovalInput, ApprovalRequest, Finding
from nacre.views.console.approval_prompt import prompt_lines
from nacre.views.console.escape import escape_command, to_ascii

ASKS = Bash(replace(DEFAULT, policy=Policy(default_decision=Decision.ASK)))


def verdict(approval_request: ApprovalRequest, words: str = "rm x") -> Verdict:
    return Verdict(
        Decision.ASK,
        (Finding("some-rule", Decision.ASK, 0, 4, words, "is odd", "do not"),),
        approval_request=approval_request,
    )


def test_approval_prompt_ends_with_the_reason_and_its_line_number() -> None:
    matter = ApprovalRequest(
        "rm x\n" + "true\n" * 60, "/w", (ApprovalInput("stdin", "a\n" * 30), ApprovalInput("$X", "rm y", True))
    )
    lines = prompt_lines(verdict(matter), 80)
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
def test_approval_prompt_rows_fit_the_terminal_and_show_the_whole_command(
    command: str, words: str, width: int, utf8: bool
) -> None:
    lines = prompt_lines(verdict(ApprovalRequest(command, f"/{words}"), words=words), width, utf8=utf8)
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
    given = [escape_command(line) for line in command.strip("\n").split("\n")]
    assert shown == (given if utf8 else [to_ascii(line) for line in given])


async def approval_request_for(command: str, where: Path, **given: object) -> ApprovalRequest:
    seen: list[Verdict] = []

    def approve(verdict: Verdict) -> bool:
        seen.append(verdict)
        return False

    ctx = ToolContext(working_dir=where, approve=approve)
    await ASKS.run(Request(command, **given), ctx)  # type: ignore[arg-type]
    assert seen[0].approval_request is not None
    return seen[0].approval_request


async def test_approval_request_contains_stdin_and_variables_of_the_command(tmp_path: Path) -> None:
    where = str(tmp_path)
    assert await approval_request_for("touch a", tmp_path) == ApprovalRequest("touch a", where)
    assert await approval_request_for("sh", tmp_path, stdin="touch a\n") == ApprovalRequest(
        "sh", where, (ApprovalInput("stdin", "touch a\n", True),)
    )
    assert await approval_request_for("cat >a", tmp_path, stdin="b") == ApprovalRequest(
        "cat >a", where, (ApprovalInput("stdin", "b"),)
    )
    assert await approval_request_for("$X", tmp_path, env={"X": "touch $Y", "Y": "a", "Z": "b"}) == ApprovalRequest(
        "$X", where, (ApprovalInput("$X", "touch $Y"), ApprovalInput("$Y", "a"), ApprovalInput("$Z", "b"))
    )
    assert await approval_request_for('sh -c "$X; true"', tmp_path, env={"X": "touch a"}) == ApprovalRequest(
        'sh -c "$X; true"',
        where,
        (ApprovalInput("$X", "touch a"), ApprovalInput("what sh is given", "touch a; true", True)),
    )


async def test_approval_request_masks_secret_variables(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    matter = await approval_request_for("touch $GITHUB_TOKEN", tmp_path, env={"GITHUB_TOKEN": secret})
    assert matter.inputs == (ApprovalInput("$GITHUB_TOKEN", "(a secret)"),)
