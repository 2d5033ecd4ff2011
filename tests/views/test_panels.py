"""Views for a person, as text: the snapshots are for looking at (`python -m tests.views.draw` regenerates them)."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.ansi.width import columns
from nacre.result import Captured, Exited, Refused, Result, Running, TaskRef
from nacre.tasks.store.task import Task
from nacre.views.console.capabilities import TerminalCapabilities
from nacre.views.console.viewport import Counts
from nacre.views.panels.background import background_box
from nacre.views.panels.refusal import refusal
from nacre.views.panels.run import panel
from nacre.views.panels.streamed import draw_streamed
from nacre.views.panels.style import render
from nacre.views.panels.task_table import task_table
from scripts.gallery import results
from scripts.gallery.scenes import SCENES, Scene
from scripts.gallery.svg import render_svg
from tests.views.draw import CAPABILITIES, SNAPSHOTS, draw_view

HOSTILE = "\x1b]52;c;aGk=\x07\x1b[2J\x1b[31m\u202e\u200b" + " " * 400 + "; rm x\n\t\r\x9b2J"
WIDTHS = (60, 80, 120, 200)


@pytest.mark.req("T-11", "M-10")
@pytest.mark.parametrize("name", CAPABILITIES)
def test_every_view_matches_its_snapshot(name: str) -> None:
    assert draw_view(CAPABILITIES[name]) == (SNAPSHOTS / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.req("T-11")
def test_panel_has_header_parameters_output_and_status() -> None:
    text = render(panel(results.TESTS, TerminalCapabilities(80), timeout=120.0), TerminalCapabilities(80))
    rule = "─" * 80
    header, parameters, first, *_, last_line, status = text.splitlines()
    assert header == "── $ pytest -q " + "─" * 55 + " exit 1 ──"
    assert parameters == "cwd: /home/ada/shop  timeout: 120s"
    assert (first, last_line) == (rule, rule)
    assert status == "stdout: 13 lines  stderr: 1 line  624ms"


@pytest.mark.req("T-11")
def test_panel_colours_ok_green_and_failures_and_stderr_red() -> None:
    look = TerminalCapabilities(80, colour=True)
    assert "\x1b[1;32mok\x1b[0m" in render(panel(results.BUILD, look), look)
    failed = render(panel(results.TESTS, look), look)
    assert "\x1b[1;31mexit 1\x1b[0m" in failed
    assert "\x1b[31mwarning: `tests/data` is not writable, no cache is kept\x1b[0m" in failed


@pytest.mark.req("T-11")
def test_truncated_panel_says_so_and_names_the_spill_file() -> None:
    text = render(panel(results.TRUNCATED, TerminalCapabilities(120)), TerminalCapabilities(120))
    assert "(truncated) stdout: 640+ lines  stderr: 0 lines  112ms\n" in text
    assert text.endswith("nacre: all 1,070,488 bytes are in /tmp/nacre-0/bash-3f9c2a17.log\n")


@pytest.mark.req("T-11")
def test_panel_shows_exact_line_counts_of_the_live_view() -> None:
    text = render(panel(results.TRUNCATED, TerminalCapabilities(80), lines=Counts(27_000, 3)), TerminalCapabilities(80))
    assert "stdout: 27,000 lines  stderr: 3 lines" in text


@pytest.mark.req("M-10")
def test_background_box_shows_id_command_file_and_next_step() -> None:
    text = render(background_box(results.BACKGROUND, TerminalCapabilities(80)), TerminalCapabilities(80))
    for part in ("Background Task Started", "bash-3f9c2a17", "npm test", results.TASK.output_file, "nacre tasks"):
        assert part in text


WIDE_TEXTS = ["日本語", "é e\u0301", "👍🏽 ok", "🇩🇪🇫🇷", "✓ … ❤", "각 ก็"]


@pytest.mark.parametrize("text", [*WIDE_TEXTS, "का", "日本語" * 40])
def test_panel_header_fills_the_width_with_wide_characters(text: str) -> None:
    look = TerminalCapabilities(80)
    shown = Result(command=f"echo {text}", cwd="/w", outcome=Exited(0))
    header, _, rule, *_ = render(panel(shown, look), look).splitlines()
    assert (columns(header), columns(rule)) == (80, 80)


@pytest.mark.parametrize("text", WIDE_TEXTS)
def test_background_box_has_straight_sides_with_wide_characters(text: str) -> None:
    box = render(
        background_box(results.BACKGROUND, TerminalCapabilities(120), description=text), TerminalCapabilities(120)
    ).splitlines()
    sides = [line for line in box if line.startswith(("╭", "│", "╰"))]
    assert text in sides[1]
    assert len({columns(line) for line in sides}) == 1


def test_svg_wraps_emoji_sequences_between_characters() -> None:
    family = "👨‍👩‍👧‍👦"
    shown = Result(
        command="x", cwd="/w", outcome=Exited(0), both=Captured(head=(family * 25).encode(), total_bytes=625)
    )
    pieces = re.findall(
        r"<text[^>]*>([^<]*)</text>",
        render_svg(panel(shown, TerminalCapabilities(40)), TerminalCapabilities(40), title="x"),
    )
    assert [piece for piece in pieces if family in piece] == [family * 20, family * 5]


@pytest.mark.req("M-10")
@pytest.mark.parametrize("width", WIDTHS)
def test_background_box_never_wraps_the_output_path(width: int) -> None:
    assert results.TASK.output_file in render(
        background_box(results.BACKGROUND, TerminalCapabilities(width)), TerminalCapabilities(width)
    )


@pytest.mark.req("M-10")
def test_refusal_panel_shows_reason_and_alternative() -> None:
    text = render(refusal(results.BLOCKED, TerminalCapabilities(80)), TerminalCapabilities(80))
    assert "Command blocked" in text
    assert "$ sudo bash -c 'rm -rf /'" in text
    assert "Why:     `rm -rf /` would delete the whole file system" in text
    assert "Instead: name the one directory that has to go" in text


@pytest.mark.req("M-10")
@pytest.mark.parametrize("width", [40, *WIDTHS])
def test_refusal_panel_shows_the_command_verbatim_for_copying(width: int) -> None:
    command = "cat > x.sh <<EOF\n  rm -rf /\nEOF\nbash x.sh " + "word " * 20 + "\ngit commit -m 'one\n\n  two'"
    refused = Result(command=command, cwd="/w", outcome=Refused("rule", "why", "do not"))
    lines = render(refusal(refused, TerminalCapabilities(width)), TerminalCapabilities(width)).splitlines()
    assert "\n".join(lines[2 : lines.index("─" * width)]) == command
    assert lines[1] == "$ (7 lines)"


@pytest.mark.req("M-10")
@pytest.mark.parametrize("width", range(30, 100, 7))
def test_panel_never_wraps_advice_in_backquotes(width: int) -> None:
    refused = Result(
        command="x", cwd="/w", outcome=Refused("r", "`a b c` is bad", "take `git push --force-with-lease`")
    )
    assert "`git push --force-with-lease`" in render(
        refusal(refused, TerminalCapabilities(width)), TerminalCapabilities(width)
    )
    text = render(panel(results.PROMOTED, TerminalCapabilities(width)), TerminalCapabilities(width))
    assert "`nacre output bash-3f9c2a17`" in text
    assert "`nacre kill bash-3f9c2a17`" in text


@pytest.mark.req("T-11")
def test_panel_taller_than_the_terminal_repeats_the_exit_status() -> None:
    def last_line(lines: int, height: int) -> str:
        data = b"x\n" * lines
        part = Captured(head=data, total_bytes=len(data))
        result = Result(command="x", cwd="/w", outcome=Exited(1), out=part, both=part)
        look = TerminalCapabilities(80, height=height)
        return render(panel(result, look), look).splitlines()[-1]

    assert last_line(99, 24) == "exit 1  stdout: 99 lines  stderr: 0 lines  0ms"
    assert last_line(99, 0) == last_line(99, 200) == "stdout: 99 lines  stderr: 0 lines  0ms"
    assert last_line(18, 24) == "stdout: 18 lines  stderr: 0 lines  0ms"
    assert last_line(19, 24) == "exit 1  stdout: 19 lines  stderr: 0 lines  0ms"


@pytest.mark.req("T-11")
def test_command_that_imitates_a_remark_is_drawn_as_a_command() -> None:
    look = TerminalCapabilities(80, colour=True)
    result = Result(command="ls … +0 characters; also runs ls", cwd="/w", outcome=Exited(0))
    assert "\x1b[1mls … +0 characters; also runs ls\x1b[0m" in render(panel(result, look), look)


@pytest.mark.req("M-10")
def test_streamed_view_ends_with_exit_code_and_duration() -> None:
    text = render(
        draw_streamed(results.INSTALL, TerminalCapabilities(52), description="Install"), TerminalCapabilities(52)
    )
    assert text == (
        "Running: Install\n" + "─" * 52 + "\n" + results.INSTALL.stdout + "─" * 52 + "\nExit code: 0\nDuration: 32.4s\n"
    )


@pytest.mark.req("T-11")
@pytest.mark.parametrize("utf8", [True, False])
@pytest.mark.parametrize("width", [40, *WIDTHS, 500])
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_rules_and_boxes_fit_the_width_and_set_no_background_colour(scene: Scene, width: int, utf8: bool) -> None:
    look = TerminalCapabilities(width, colour=True, utf8=utf8)
    text = render(scene.draw(look), look)
    for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines():
        if line.startswith(("──", "╭", "│", "╰", "--", "+-")):
            assert columns(line) <= width
    codes = {code for found in re.findall(r"\x1b\[([0-9;]*)m", text) for code in found.split(";")}
    assert codes <= {"0", "1", "2", "3", "31", "32", "35", ""}


@pytest.mark.req("T-11")
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_every_scene_without_utf8_is_ascii(scene: Scene) -> None:
    look = TerminalCapabilities(80, utf8=False, colour=True)
    assert render(scene.draw(look), look).isascii()


def _views_of_hostile(text: str) -> list[str]:
    data = text.encode("utf-8", "surrogatepass")
    part = Captured(head=data, total_bytes=len(data))
    fields = {"command": text, "cwd": f"/w{text}", "out": part, "both": part}
    task = TaskRef(text, 1, 1, text)
    ended = Result(outcome=Exited(0), notes=(text,), task=task, **fields)  # type: ignore[arg-type]
    refused = Result(outcome=Refused(text, text, text), **fields)  # type: ignore[arg-type]
    begun = Result(outcome=Running(text), task=task, **fields)  # type: ignore[arg-type]
    row = Task(
        id=text, directory=text, state="running", outcome=Running(text), command=text, description=text, cwd=text
    )
    look = TerminalCapabilities(80)
    return [
        render(drawing, look)
        for drawing in (
            panel(ended, look, description=text),
            draw_streamed(ended, look, description=text),
            refusal(refused, look),
            background_box(begun, look, description=text),
            task_table([row], look),
        )
    ]


@pytest.mark.req("T-11")
@given(st.text(max_size=60))
@settings(deadline=None)
def test_views_contain_no_control_or_invisible_characters(text: str) -> None:
    for view in _views_of_hostile(HOSTILE + text):
        assert not any((ord(letter) < 32 and letter != "\n") or 127 <= ord(letter) < 160 for letter in view)
        assert not set(view) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200e\u200f")


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_svg_contains_the_same_text_as_the_terminal_view(scene: Scene) -> None:
    look = TerminalCapabilities(60)
    picture = render_svg(scene.draw(look), look, title="")
    pieces = re.findall(r"<text [^>]*>([^<]*)</text>", picture)
    drawn = "".join(unescape(piece) for piece in pieces).replace("\xa0", " ")
    assert re.sub(r"\s", "", drawn) == re.sub(r"\s", "", render(scene.draw(look), look))


def test_svg_references_no_external_resources() -> None:
    for light in (False, True):
        for scene in SCENES[:3]:
            picture = render_svg(
                scene.draw(TerminalCapabilities(80)), TerminalCapabilities(80), title="nacre", light=light
            )
            assert set(re.findall(r"https?://[^\"' )]+", picture)) == {"http://www.w3.org/2000/svg"}
            assert "@font-face" not in picture
            assert "monospace" in picture
