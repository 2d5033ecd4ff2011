"""Rendering of terminal output: the text that is finally on the screen."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.ansi.decode import has_controls
from nacre.ansi.render import render
from nacre.ansi.screen import HEIGHT, WIDTH

ESC = "\x1b"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("a\r\nb\r\r\nc\r\r\r\n", "a\nb\nc\n"),
        ("10%\r20%\r100%\n", "100%\n"),
        ("100%\r9%\n", "9%0%\n"),
        ("abc\b\bX\n", "aXc\n"),
        ("_\bB_\bo_\bl\n", "Bol\n"),
        ("\b\b\ba", "a"),
        (f"abcdef\r{ESC}[Kxy\n", "xy\n"),
        (f"abcdef{ESC}[3D{ESC}[K\n", "abc\n"),
        (f"abcdef{ESC}[3D{ESC}[1K\n", "    ef\n"),
        (f"abcdef{ESC}[2K\n", "\n"),
        (f"⠙{ESC}[1G{ESC}[0K⠹{ESC}[1G{ESC}[0Kdone\n", "done\n"),
        (f"one\ntwo\n{ESC}[2A{ESC}[2KONE\n{ESC}[2Ktwo!\n", "ONE\ntwo!\n"),
        (f"one\ntwo\n{ESC}[1Aup{ESC}[1B\rend\n", "one\nupo\nend\n"),
        (f"a\nb\n{ESC}[2F>\n>\nc", ">\n>\nc"),
        (f"a{ESC}[5Cb\n", "a     b\n"),
        (f"a{ESC}[10Gb{ESC}[3Gc\n", "a c      b\n"),
        (f"old\n{ESC}[2J{ESC}[Hnew\n", "new\n"),
        (f"{ESC}[H{ESC}[2Jnew\n", "new\n"),
        (f"a\nb\nc\n{ESC}[2A{ESC}[Jx\n", "a\nx\n"),
        (f"ab{ESC}cnew\n", "new\n"),
        (f"shell\n{ESC}[?1049hvim draws\n~\n~{ESC}[?1049lagain\n", "shell\nagain\n"),
        (f"shell\n{ESC}[?1049hkilled in it", "shell\n\nkilled in it"),
        (f"{ESC}7ab{ESC}8c\n", "cb\n"),
        (f"abc\r{ESC}[2P\n", "c\n"),
        (f"abc\r{ESC}[2@\n", "  abc\n"),
        (f"abc\r{ESC}[2X\n", "  c\n"),
        (f"-{ESC}[4b\n", "-----\n"),
        (f"a\nb\n{ESC}[2A{ESC}[Lx\n", "x\na\nb"),
        (f"a\nb\nc\n{ESC}[3A{ESC}[M", "b\nc\n"),
        ("a\fb\vc", "a\nb\nc"),
        ("日本語\rab\n", "ab本語\n"),
        ("日本語\rabc\n", "abc 語\n"),
        ("日本語\b\bx\n", "日本x\n"),
        ("e\u0301a\bx\n", "e\u0301x\n"),
        ("a\0b", "a␀b"),
        ("bell\x07\x01\x85\x9b31m\n", "bell31m\n"),
    ],
)
def test_render_gives_the_text_left_on_the_screen(raw: str, text: str) -> None:
    assert render(raw).text == text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (f"{ESC}[31mred{ESC}[0m {ESC}[38;5;70mx{ESC}[38:2::1:2:3my{ESC}[m\n", "red xy\n"),
        (f"{ESC}]8;;https://example.org\x07link{ESC}]8;;\x07\n", "link\n"),
        (f"{ESC}]8;;https://example.org{ESC}\\link{ESC}]8;;{ESC}\\\n", "link\n"),
        (f"{ESC}]52;c;aGk=\x07{ESC}[2J", ""),
        (f"{ESC}]0;title\x07text\n", "text\n"),
        (f"{ESC}]0;never ends\nnext\n", "\nnext\n"),
        (f"{ESC}]0;cut off", ""),
        (f"a{ESC}Pq#0;2;0\nsixel{ESC}\\b\n", "ab\n"),
        (f"a{ESC}Pnever ends\nnext\n", "a\nnext\n"),
        (f"a{ESC}_Gf=100;AAAA{ESC}\\b{ESC}^pm{ESC}\\c{ESC}Xsos{ESC}\\d", "abcd"),
        (f"{ESC}Ptmux;{ESC}{ESC}]52;c;aGk=\x07{ESC}\\text", "text"),
        (f"{ESC}(B{ESC})0{ESC}=x{ESC}>{ESC}#8\n", "x\n"),
        (f"{ESC}[?25lx{ESC}[?25h{ESC}[?2004h{ESC}[>4;1m{ESC}[!p", "x"),
        (f"x{ESC}[", "x"),
        (f"x{ESC}[12;3", "x"),
        (f"x{ESC}", "x"),
        (f"x{ESC}[31\ny", "x\ny"),
        (f"a\nx{ESC}[1{ESC}[0mAy", "a\nxAy"),
        (f"x{ESC}{ESC}[0m[2Jy{ESC}({ESC}[0mBz", "x[2JyBz"),
        (f"{ESC}[6n{ESC}[c{ESC}[0 q{ESC}[1;2;3;4tx", "x"),
    ],
)
def test_render_removes_other_sequences_and_at_most_their_line(raw: str, text: str) -> None:
    assert render(raw).text == text


def test_render_keeps_the_last_step_of_a_progress_bar() -> None:
    assert render("".join(f"\r{ESC}[2K{step}%" for step in range(1, 101)) + "\n").text == "100%\n"


def test_render_omits_a_status_line_below_a_scrolling_region() -> None:
    bar = f"{ESC}7{ESC}[40;0f{ESC}[42mProgress: [ 12%]{ESC}[49m [###...] {ESC}8"
    raw = f"Reading\r\n\r\n{ESC}7{ESC}[0;39r{ESC}8{ESC}[1A{bar}Unpacking a\r\n{bar}Setting up a\r\n\r\n"
    raw += f"{ESC}7{ESC}[0;40r{ESC}8{ESC}[1A{ESC}[J"
    assert render(raw).text.rstrip() == "Reading\nUnpacking a\nSetting up a"


def test_render_stops_the_cursor_at_the_top_of_the_screen() -> None:
    lines = [str(number) for number in range(HEIGHT + 50)]
    text = render("\n".join(lines) + f"{ESC}[99999A\r{ESC}[2Ktop").text.split("\n")
    lines[50] = "top"
    assert text == lines


@pytest.mark.parametrize("final", "ABCDEFGHJKLMPSTX@bdfrsu")
def test_render_output_is_bounded_for_huge_parameters(final: str) -> None:
    text = render(f"a{ESC}[99999999999999{final}b{ESC}[99999;99999{final}c\n" * 10).text
    assert len(text) < 10 * (WIDTH + HEIGHT) * 3


def test_rendered_lines_have_their_raw_line_numbers() -> None:
    assert render("a\nb").numbers is None
    assert render(f"{ESC}[31ma{ESC}[0m\r\nb").numbers is None
    frames = "".join(f"one {step}\ntwo {step}\n{ESC}[2A" for step in range(5))
    shown = render(f"start\n{frames}\n\nend\n")
    assert shown.text == "start\none 4\ntwo 4\nend\n"
    assert shown.numbers == (0, 9, 10, 13, 14)


@pytest.mark.parametrize(
    ("raw", "text", "numbers"),
    [
        (f"a\n{ESC}Pq\n1\n2\n{ESC}\\b\nc", "a\nb\nc", (0, 4, 5)),
        (f"{ESC}Pq\n1{ESC}\\a\nb\x08c", "a\nc", (1, 2)),
        (f"l1\nl2\nl3\nl4{ESC}[2A{ESC}[2M", "l1\nl4", (0, 3)),
        (f"l1\nl2\nl3{ESC}[1A{ESC}[1L\nx", "l1\n\nx2", (0, 2, 3)),
        (f"l1\nl2\nl3\n{ESC}[2J{ESC}[Hnew\nend", "new\nend", (3, 4)),
        (f"l1\nl2\n{ESC}[3Hx", "l1\nl2\nx", (0, 1, 2)),
    ],
)
def test_rendered_line_numbers_survive_images_and_inserted_or_deleted_rows(
    raw: str, text: str, numbers: tuple[int, ...]
) -> None:
    assert (render(raw).text, render(raw).numbers) == (text, numbers)


@given(st.text(st.sampled_from("ab \t\n\r\b日e\u0301\x1b[]0123456789;?KJHABCDGmPhlr78cM\x07\\\x9b\0👩\u200d👧")))
@settings(deadline=None)
def test_render_accepts_any_text_and_leaves_no_controls(text: str) -> None:
    shown = render(text)
    assert not has_controls(shown.text)
    if shown.numbers is not None:
        assert len(shown.numbers) == shown.text.count("\n") + 1
        assert max(shown.numbers) <= text.count("\n")


class Reference:
    """A slow reference of the same screen: a dictionary of cells, one step at a time, one column for each character."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], str] = {}
        self.row = self.column = self.last = 0

    def apply(self, step: tuple[str, int] | str) -> None:
        if isinstance(step, str):
            for char in step:
                self.char(char)
            return
        final, count = step
        if final == "K":
            end = {0: 10**6, 1: self.column + 1, 2: 10**6}[count]
            start = {0: self.column, 1: 0, 2: 0}[count]
            for place in [place for place in self.cells if place[0] == self.row and start <= place[1] < end]:
                del self.cells[place]
        elif final == "J":
            for place in [place for place in self.cells if place >= (self.row, self.column)]:
                del self.cells[place]
            self.last = self.row
        elif final == "A":
            self.row = max(0, self.row - count)
        elif final == "B":
            self.row = min(self.last, self.row + count)
        elif final == "C":
            self.column += count
        elif final == "D":
            self.column = max(0, self.column - count)
        elif final == "G":
            self.column = count - 1

    def char(self, char: str) -> None:
        if char == "\n":
            self.row += 1
            self.last = max(self.last, self.row)
            self.column = 0
        elif char == "\r":
            self.column = 0
        elif char == "\b":
            self.column = max(0, self.column - 1)
        else:
            self.cells[self.row, self.column] = char
            self.column += 1

    def text(self) -> list[str]:
        rows = []
        for row in range(self.last + 1):
            columns = [column for each, column in self.cells if each == row]
            rows.append("".join(self.cells.get((row, column), " ") for column in range(max(columns, default=-1) + 1)))
        return rows


STEPS = st.lists(
    st.one_of(
        st.text(st.sampled_from("abcXYZ .é━"), max_size=8),
        st.sampled_from(["\n", "\r", "\b", "\r\n", "\n\n"]),
        st.tuples(st.sampled_from("ABCDG"), st.integers(1, 9)),
        st.tuples(st.just("K"), st.integers(0, 2)),
        st.just(("J", 0)),
    ),
    max_size=40,
)


@given(STEPS)
@settings(deadline=None)
def test_render_matches_a_simple_reference_terminal(steps: list[tuple[str, int] | str]) -> None:
    reference = Reference()
    raw = ""
    for step in steps:
        reference.apply(step)
        raw += step if isinstance(step, str) else f"{ESC}[{step[1]}{step[0]}"
    rows = [row.rstrip(" ") for row in render(raw).text.split("\n")]
    assert rows == [row.rstrip(" ") for row in reference.text()]


@given(STEPS, st.integers(20, 60))
@settings(deadline=None)
def test_render_of_long_lines_matches_the_reference_terminal(steps: list[tuple[str, int] | str], times: int) -> None:
    reference = Reference()
    raw = ""
    row = [step for step in steps if (step[0] in "CDGK" if isinstance(step, tuple) else "\n" not in step)]
    for step in [*row * times, "\r", ("K", 0), *row, "\n"]:
        reference.apply(step)
        raw += step if isinstance(step, str) else f"{ESC}[{step[1]}{step[0]}"
    rows = [row.rstrip(" ") for row in render(raw).text.split("\n")]
    if len(raw) < WIDTH:
        assert rows == [row.rstrip(" ") for row in reference.text()]
