"""The summary line: its exact wording, at every length."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from nacre import Cancel, ToolContext
from nacre.compat.yoi import BashTool, ToolOutput
from nacre.profiles.yoi import YOI
from nacre.result import Exited, Killed, Lost, NotStarted, Outcome, OverLimit, Refused, Result, Running, Signalled
from nacre.views.answers import answer
from nacre.views.answers.summary import shorten_command
from tests.profiles.yoi.conftest import Execute
from tests.support.lifeline import Lifeline


@pytest.mark.req("Y-08")
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("x" * 79, "x" * 79),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 77 + "..."),
        ("🐚" * 80, "🐚" * 80),
        ("🐚" * 81, "🐚" * 77 + "..."),
        ("echo a\necho b", "echo a"),
        ("echo a\r\necho b", "echo a"),
        ("x" * 80 + "\n" + "y" * 80, "x" * 80),
        ("\necho", ""),
        ("", ""),
        ("a\rb\x0bc\u2028d", "a\rb\x0bc\u2028d"),
        ("printf '\udc80'", "printf '?'"),
    ],
    ids=["79", "80", "81", "80-wide", "81-wide", "lines", "crlf", "80-and-more", "empty-line", "empty", "odd", "byte"],
)
def test_summary_shows_80_characters_of_the_first_line(command: str, shown: str) -> None:
    assert shorten_command(command, 80) == shown


@pytest.mark.req("Y-08")
async def test_command_that_kills_its_shell_is_reported_as_terminated(execute: Execute) -> None:
    assert await execute("echo before; kill -9 $$") == ToolOutput(
        "$ echo before; kill -9 $$ (terminated by signal)", "before\n"
    )


@pytest.mark.req("Y-08")
@pytest.mark.parametrize(("code", "said"), [(0, ""), (1, " (exit 1)"), (255, " (exit 255)"), (137, " (exit 137)")])
async def test_nonzero_exit_code_is_in_the_summary(execute: Execute, code: int, said: str) -> None:
    assert await execute(f"exit {code}") == ToolOutput(f"$ exit {code}{said}", None)


@pytest.mark.req("Y-08")
@pytest.mark.parametrize(
    ("outcome", "summary", "content"),
    [
        (Exited(2), "$ x (exit 2)", None),
        (Signalled(9), "$ x (terminated by signal)", None),
        (OverLimit("cpu", 1, 2), "$ x (over its limit of 1 s of CPU time: it used 2 s of CPU time)", None),
        (Killed("a friend"), "$ x (killed by a friend)", None),
        (Running("bash-1"), "$ x (running as bash-1)", None),
        (Lost("gone"), "$ x (lost: gone)", None),
        (NotStarted("no", "do"), "$ x (could not start: no)", "do"),
        (Refused("r", "why", "that"), "$ x (not run: refused by r)", "why. Instead: that"),
        (Refused("r", "why"), "$ x (not run: refused by r)", "why"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_every_other_outcome_has_its_summary(outcome: Outcome, summary: str, content: str | None) -> None:
    made = answer(Result(command="x", cwd="/", outcome=outcome), YOI.view)
    assert (made.data["summary"], made.data["content"]) == (summary, content)
    assert made.text == (summary if content is None else f"{summary}\n{content}")


@pytest.mark.req("Y-08")
async def test_cancelled_command_is_reported_with_its_output(workspace: Path, outputs: Path, life: Lifeline) -> None:
    cancel = Cancel()
    tool = BashTool(workspace, outputs, context=ToolContext(cancel=cancel))
    call = asyncio.create_task(tool.execute(f'{{"command": "echo begun; {life.hold} sleep 60"}}'))
    await life.wait_until_held()
    cancel.cancel()
    output = await call
    assert output.summary.endswith(" (cancelled)")
    assert output.content == "begun\n"
    await life.wait_until_ended()
