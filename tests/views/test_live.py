"""The live view: what is on the screen after each frame, as `output.terminal` renders it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.ansi.render import render
from nacre.ansi.width import columns
from nacre.views.console.live import LiveView


def screen(*parts: str) -> list[str]:
    return render("".join(parts)).text.split("\n")


@pytest.mark.req("M-10")
def test_live_view_shows_the_last_lines_and_a_status_line() -> None:
    live = LiveView("npm install", "/w", timeout=300.0)
    live.feed("stdout", b"".join(b"line %d\n" % n for n in range(100)))
    live.feed("stderr", b"half")
    assert live.lines(12.0, 60, 10) == [
        "$ npm install",
        "─" * 59,
        "line 96",
        "line 97",
        "line 98",
        "line 99",
        "half",
        "─" * 59,
        "⠋ 12s of 300s  101 lines  794 bytes  Ctrl-C ends it",
    ]
    assert live.counts == (100, 1, True)


@pytest.mark.req("M-10")
def test_live_view_shows_the_description_instead_of_the_command() -> None:
    assert LiveView("npm install", "/w", description="Install").lines(1.0, 60, 24)[0] == "Running: Install"


@pytest.mark.req("M-10")
@pytest.mark.parametrize("width", [30, 60])
def test_live_view_without_utf8_marks_cuts_with_three_dots(width: int) -> None:
    live = LiveView("printf '%s' {1..9}\necho x; ls", "/w")
    live.feed("stdout", b"a" * 200 + b"\n\xc3\xa9\n")
    lines = live.lines(1.0, width, 24, utf8=False)
    assert all(line.isascii() and len(line) < width and "\\u2026" not in line for line in lines)
    assert lines[2] == "a" * (width - 4) + "..."
    assert lines[3] == "\\xe9"
    assert " ... +" in lines[0]


def test_live_view_that_is_ending_explains_the_second_ctrl_c() -> None:
    live = LiveView("x", "/w")
    live.ending = True
    assert live.lines(1.0, 80, 24)[-1].endswith("  ending; Ctrl-C again leaves at once")


def test_live_view_counts_emoji_sequences_as_one_row() -> None:
    families = "👨‍👩‍👧‍👦" * 19
    live = LiveView("x", "/w")
    live.feed("stdout", families.encode() + b"\n")
    assert live.lines(1.0, 40, 24)[2] == families
    live.frame(1.0, 40, 24)
    assert live.erase(40, 24) == "\r\x1b[4A\x1b[J"


def test_live_frame_replaces_the_previous_one() -> None:
    live = LiveView("x", "/w")
    live.feed("stdout", b"one\ntwo\n")
    first = live.frame(1.0, 40, 24)
    live.feed("stdout", b"three\n")
    second = live.frame(1.1, 40, 24)
    assert screen("$ nacre run x\r\n", first, second) == ["$ nacre run x", *live.lines(1.1, 40, 24)]


def test_shorter_live_frame_clears_the_longer_one() -> None:
    live = LiveView("x", "/w")
    live.feed("stdout", b"".join(b"a long line %d\n" % n for n in range(9)))
    first = live.frame(1.0, 40, 24)
    live.feed("stdout", b"x" * 10_000)
    second = live.frame(1.1, 40, 24)
    assert len(live.lines(1.1, 40, 24)) == 5
    assert screen(first, second) == live.lines(1.1, 40, 24)


def test_erase_removes_the_live_frame() -> None:
    live = LiveView("x", "/w")
    live.feed("stdout", b"one\ntwo\n")
    text = "before\r\n" + live.frame(1.0, 40, 24) + live.erase(40, 24) + "after"
    assert screen(text) == ["before", "after"]
    assert live.erase(40, 24) == ""


def test_live_view_moves_up_over_reflowed_lines_of_a_narrowed_terminal() -> None:
    live, old = LiveView("x", "/w", reflows=True), LiveView("x", "/w", reflows=False)
    for each in (live, old):
        each.feed("stdout", b"a\n")
        each.frame(1.0, 80, 24)
    assert "\x1b[6A" in live.frame(1.1, 40, 24)  # two rules of 79 columns, in two rows each
    assert "\x1b[4A" in old.frame(1.1, 40, 24)


def test_live_view_does_not_move_up_after_forget() -> None:
    live = LiveView("x", "/w")
    live.frame(1.0, 40, 24)
    live.forget()
    assert "A" not in live.frame(1.1, 40, 24).partition("$")[0]


def test_live_frame_resets_every_terminal_mode() -> None:
    frame = LiveView("x", "/w", colour=True).frame(1.0, 40, 24)
    assert frame.startswith("\x1b[?7l")
    assert frame.endswith("\x1b[?7h")
    assert "\x1b[?25l" not in frame
    assert frame.count("\x1b[0m") == frame.count("\x1b[1m") + frame.count("\x1b[2m")


def test_live_view_on_four_terminal_rows_is_one_line() -> None:
    assert len(LiveView("x", "/w").lines(1.0, 40, 4)) == 1


def test_live_view_without_utf8_is_ascii() -> None:
    live = LiveView("é", "/w")
    live.feed("stdout", "日本\n".encode())
    assert all(line.isascii() and len(line) < 40 for line in live.lines(1.0, 40, 24, utf8=False))


def test_live_view_counts_a_flood_and_shows_its_last_lines() -> None:
    live = LiveView("yes", "/w")
    for _ in range(1000):
        live.feed("stdout", b"y\n" * 32768)
    assert live.bytes == 65_536_000
    assert live.counts == (16_777_216, 0, False)
    assert live.lines(1.0, 60, 24)[2:-2] == ["y"] * 12
    assert "  16,777,216+ lines  62M bytes  " in live.lines(1.0, 60, 24)[-1]


@given(st.binary(max_size=300), st.integers(1, 120), st.integers(1, 40))
@settings(deadline=None)
def test_live_view_lines_fit_and_contain_no_control_characters(data: bytes, width: int, height: int) -> None:
    live = LiveView("echo \x1b[2J\u202e", "/w", description="")
    live.feed("stdout", b"\x1b]52;c;aGk=\x07\x1b[2J\x1b[5A" + data)
    lines = live.lines(1.0, width, height)
    assert len(lines) <= height or height < 5
    for line in lines:
        assert columns(line) <= max(width - 1, 1)
        assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in line)
