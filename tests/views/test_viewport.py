"""The viewport: which lines of the output a person sees."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.capture.head_tail import HeadTailBuffer
from nacre.result import Captured, Exited, Result
from nacre.views.console.viewport import ViewportLine, viewport


def result(out: bytes = b"", err: bytes = b"", both: bytes | None = None, limit: int = 1 << 20) -> Result:
    def part(data: bytes) -> Captured:
        record = HeadTailBuffer(limit)
        record.add(data)
        return record.to_captured()

    return Result(
        command="x",
        cwd="/",
        outcome=Exited(0),
        out=part(out),
        err=part(err),
        both=part(out + err if both is None else both),
    )


@pytest.mark.req("T-11")
def test_stderr_stands_where_it_came() -> None:
    view = viewport(result(b"one\ntwo\n", b"bad\n", b"one\nbad\ntwo\n"))
    assert view.lines == (ViewportLine("one"), ViewportLine("bad", "err"), ViewportLine("two"))
    assert not view.cut


@pytest.mark.req("T-11")
def test_what_both_have_said_is_nobodys_error() -> None:
    assert viewport(result(b"same\n", b"same\n")).lines == (ViewportLine("same"), ViewportLine("same"))


@pytest.mark.req("T-11")
def test_more_lines_than_fit_leave_a_beginning_an_end_and_a_count() -> None:
    view = viewport(result(b"".join(b"%d\n" % n for n in range(1000))), most=10)
    texts = [line.text for line in view.lines]
    assert texts == ["0", "1", "2", "… 990 lines not shown …", *(str(n) for n in range(993, 1000))]
    assert view.lines[3].origin == "note"
    assert view.cut
    assert view.hidden == 990


@pytest.mark.req("T-11")
def test_bytes_that_were_not_kept_are_counted() -> None:
    data = b"".join(b"%06d\n" % n for n in range(10_000))
    view = viewport(result(data, limit=7000), most=10)
    note = next(line.text for line in view.lines if line.origin == "note")
    assert note == "… 63,000 bytes and 990 lines around them not shown …"
    assert view.lines[-1] == ViewportLine("009999")


def test_a_progress_bar_is_what_it_came_to_and_its_lines_are_counted() -> None:
    view = viewport(result(b"a 1%\n\x1b[1A\x1b[2Ka 2%\n\x1b[1A\x1b[2Ka 100%\n"))
    assert view.lines == (ViewportLine("a 100%"),)
    assert view.erased == 2


def test_clearing_the_screen_hides_nothing() -> None:
    view = viewport(result(b"secret\n\x1b[2J\x1b[3J\x1bc\x1b[?1049hshown\n"))
    assert [line.text for line in view.lines] == ["secret", "shown"]


def test_what_goes_to_the_clipboard_is_named_and_not_shown() -> None:
    view = viewport(result(b"\x1b]52;c;aGk=\x07\x1b]0;title\x07hi\n"))
    assert (view.lines, view.ignored_sequences) == ((ViewportLine("hi"),), ("clipboard", "title"))


def test_binary_output_is_named() -> None:
    view = viewport(result(b"before\n" + b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9))
    assert [line.text for line in view.lines] == ["before", "[binary output, not shown: PNG image, 2,312 bytes]"]


def test_a_huge_line_is_cut_and_counted() -> None:
    view = viewport(result(b"x" * 100_000), longest=50)
    assert view.lines == (ViewportLine("x" * 50 + "… +99,950 characters"),)
    assert view.cut


def test_a_line_that_is_longer_than_what_is_looked_at_has_two_ends() -> None:
    view = viewport(result(b"x" * 300_000), longest=50)
    end = ViewportLine("x" * 50 + "… +65,486 characters")
    assert view.lines == (end, ViewportLine("… 168,928 bytes not shown …", "note"), end)
    assert view.cut


def test_emoji_and_blanks_of_all_kinds_stay_what_they_are() -> None:
    text = "⚠️ careful 👩‍💻 a\u00a0b e\u0301 日本"
    assert viewport(result(text.encode())).lines == (ViewportLine(text),)


@given(st.binary(max_size=400) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
@settings(deadline=None)
def test_no_bytes_leave_anything_that_commands_a_terminal(data: bytes) -> None:
    for line in viewport(result(data)).lines:
        assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in line.text)
        assert not set(line.text) & set(
            "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200e\u200f\ufeff"
        )


@given(st.lists(st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=20), max_size=60))
@settings(deadline=None)
def test_lines_that_are_shown_and_lines_that_are_not_are_all_there_are(lines: list[str]) -> None:
    view = viewport(result("".join(f"{line}\n" for line in lines).encode()), most=10)
    assert sum(line.origin != "note" for line in view.lines) + view.hidden == len(lines)
