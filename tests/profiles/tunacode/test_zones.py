"""The view for a person: exactly four zones (T-11)."""

from __future__ import annotations

from io import StringIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from nacre.compat.tunacode import BashData, BashText, bash, make_bash, render
from tests.support.hosts import run_host


def draw_text(result: str | BashData, *, colour: bool = False, width: int = 80, **more: float | None) -> str:
    console = Console(
        file=StringIO(), width=width, force_terminal=colour, color_system="standard" if colour else None, _environ={}
    )
    with console.capture() as captured:
        console.print(render(result, **more))  # type: ignore[arg-type]
    return captured.get()


def data(**more: object) -> BashData:
    fields: dict[str, object] = {
        "command": "pytest -q",
        "exit_code": 0,
        "working_dir": "/home/ada/shop",
        "stdout": "one\ntwo",
        "stderr": "",
        "is_truncated": False,
        "timeout": 30,
    }
    return BashData(**{**fields, **more})  # type: ignore[arg-type]


@pytest.mark.req("T-11")
def test_rendered_report_has_four_zones() -> None:
    text = draw_text(data(exit_code=2, stderr="bad", is_truncated=True), duration_ms=12.4)
    rule = "─" * 80
    assert text.splitlines() == [
        "── $ pytest -q " + "─" * 55 + " exit 2 ──",
        "cwd: /home/ada/shop  timeout: 30s",
        rule,
        "one",
        "two",
        "bad",
        rule,
        "(truncated) stdout: 2 lines stderr: 1 lines 12ms",
    ]


@pytest.mark.req("T-11")
@pytest.mark.parametrize(
    ("length", "shown"),
    [(47, "$ " + "x" * 47), (48, "$ " + "x" * 48), (49, "$ " + "x" * 47 + "…"), (5000, "$ " + "x" * 47 + "…")],
)
def test_header_truncates_the_command_at_50_characters(length: int, shown: str) -> None:
    header = draw_text(data(command="x" * length), width=120).splitlines()[0]
    assert header.startswith(f"── {shown} ─")


@pytest.mark.req("T-11")
def test_ok_is_green_and_exit_codes_and_stderr_are_red() -> None:
    assert "\x1b[1;32mok\x1b[0m" in draw_text(data(), colour=True)
    failed = draw_text(data(exit_code=-9, stdout="same", stderr="same\nworse"), colour=True)
    assert "\x1b[1;31mexit -9\x1b[0m" in failed
    assert "\nsame\n\x1b[31msame\x1b[0m\n\x1b[31mworse\x1b[0m\n" in failed


@pytest.mark.req("T-11")
@pytest.mark.parametrize(
    ("output", "marked"),
    [
        ('{"name": 1}', '\x1b[1m"name"\x1b[0m'),
        ("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y", "\x1b[32m+y\x1b[0m"),
        ("Traceback (most recent call last):\nValueError: x", "\x1b[31mValueError: x\x1b[0m"),
    ],
    ids=["json", "diff", "traceback"],
)
def test_json_diff_and_traceback_are_highlighted(output: str, marked: str) -> None:
    assert marked in draw_text(data(stdout=output), colour=True)


@pytest.mark.req("T-11")
@pytest.mark.parametrize(("timeout", "shown"), [(1, "1s"), (300, "300s"), (None, "none")])
def test_parameter_line_shows_directory_and_timeout(timeout: int | None, shown: str) -> None:
    assert draw_text(data(timeout=timeout)).splitlines()[1] == f"cwd: /home/ada/shop  timeout: {shown}"


@pytest.mark.req("T-11")
async def test_duration_is_shown_for_a_report_but_not_for_plain_text() -> None:
    text = await bash("echo hi", timeout=77)
    assert isinstance(text, BashText)
    lines = draw_text(text).splitlines()
    assert lines[1].endswith("  timeout: 77s")
    assert lines[-1] == f"stdout: 1 lines stderr: 0 lines {text.result.duration * 1000:.0f}ms"
    assert draw_text(str(text), timeout=5).splitlines()[-1] == "stdout: 1 lines stderr: 0 lines"
    assert draw_text(str(text), timeout=5).splitlines()[1].endswith("  timeout: 5s")


@pytest.mark.req("T-11")
async def test_explanation_is_not_counted_as_a_stderr_line() -> None:
    text = await bash("nosuchcommandatall")
    assert "stdout: 0 lines stderr: 1 lines" in draw_text(text)


@pytest.mark.req("T-11")
def test_empty_stdout_is_shown_as_no_output() -> None:
    assert "\n(no output)\n" in draw_text(data(stdout=""))


@pytest.mark.req("T-11")
def test_text_that_is_not_a_report_is_shown_escaped() -> None:
    assert draw_text("Not run, for security: \x1b]52;c;x\x07") == "Not run, for security: \\x1b]52;c;x\\x07\n"


@pytest.mark.req("T-11")
@pytest.mark.parametrize("width", [20, 60, 200])
def test_control_characters_are_neutralized_and_long_lines_folded(width: int) -> None:
    hostile = "\x1b[2Jgone\x1b]0;title\x07\u202eabc " + "w" * 300
    text = draw_text(data(command=hostile, stdout=hostile, stderr=hostile, working_dir=hostile), width=width)
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert text.count("w") > 300


@pytest.mark.req("T-11")
@given(st.builds(BashData, st.text(), st.integers(), st.text(), st.text(), st.text(), st.booleans(), st.none()))
@settings(deadline=None, max_examples=50)
def test_any_report_data_can_be_rendered(found: BashData) -> None:
    assert draw_text(found).count("\n") >= 6


@pytest.mark.req("T-11")
async def test_rendered_report_counts_the_lines_not_shown() -> None:
    text = await make_bash(strict_characters=False)("seq 3000")
    shown = draw_text(text)
    assert "2,900 lines not shown" in shown
    assert "(truncated) stdout: 3000 lines stderr: 0 lines" in shown


@pytest.mark.req("T-11")
def test_rich_is_loaded_only_by_rendering() -> None:
    program = """
        import asyncio, sys
        from nacre.compat.tunacode import bash, parse, render
        text = asyncio.run(bash("echo hi"))
        parse(str(text))
        before = "rich" in sys.modules
        render(text)
        print(before, "rich" in sys.modules)
    """
    assert run_host(program) == "False True\n"
