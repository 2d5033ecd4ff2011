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
def test_viewport_shows_stderr_lines_in_order_of_arrival() -> None:
    view = viewport(result(b"one\ntwo\n", b"bad\n", b"one\nbad\ntwo\n"))
    assert view.lines == (ViewportLine("one"), ViewportLine("bad", "err"), ViewportLine("two"))
    assert not view.cut


@pytest.mark.req("T-11")
def test_line_on_both_streams_is_not_marked_as_stderr() -> None:
    assert viewport(result(b"same\n", b"same\n")).lines == (ViewportLine("same"), ViewportLine("same"))


@pytest.mark.req("T-11")
def test_viewport_shows_head_tail_and_count_of_too_many_lines() -> None:
    view = viewport(result(b"".join(b"%d\n" % n for n in range(1000))), most=10)
    texts = [line.text for line in view.lines]
    assert texts == ["0", "1", "2", "… 990 lines not shown …", *(str(n) for n in range(993, 1000))]
    assert view.lines[3].origin == "note"
    assert view.cut
    assert view.hidden == 990


@pytest.mark.req("T-11")
def test_viewport_counts_dropped_bytes() -> None:
    data = b"".join(b"%06d\n" % n for n in range(10_000))
    view = viewport(result(data, limit=7000), most=10)
    note = next(line.text for line in view.lines if line.origin == "note")
    assert note == "… 63,000 bytes and 990 lines around them not shown …"
    assert view.lines[-1] == ViewportLine("009999")


def test_viewport_shows_the_last_state_of_a_progress_bar() -> None:
    view = viewport(result(b"a 1%\n\x1b[1A\x1b[2Ka 2%\n\x1b[1A\x1b[2Ka 100%\n"))
    assert view.lines == (ViewportLine("a 100%"),)
    assert view.erased == 2


def test_viewport_shows_text_before_a_cleared_screen() -> None:
    view = viewport(result(b"secret\n\x1b[2J\x1b[3J\x1bc\x1b[?1049hshown\n"))
    assert [line.text for line in view.lines] == ["secret", "shown"]


def test_viewport_names_clipboard_and_title_sequences_without_their_text() -> None:
    view = viewport(result(b"\x1b]52;c;aGk=\x07\x1b]0;title\x07hi\n"))
    assert (view.lines, view.ignored_sequences) == ((ViewportLine("hi"),), ("clipboard", "title"))


def test_viewport_describes_binary_output() -> None:
    view = viewport(result(b"before\n" + b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9))
    assert [line.text for line in view.lines] == ["before", "[binary output, not shown: PNG image, 2,312 bytes]"]


def test_viewport_cuts_a_huge_line_and_counts_the_rest() -> None:
    view = viewport(result(b"x" * 100_000), longest=50)
    assert view.lines == (ViewportLine("x" * 50 + "… +99,950 characters"),)
    assert view.cut


def test_viewport_shows_both_ends_of_an_extremely_long_line() -> None:
    view = viewport(result(b"x" * 300_000), longest=50)
    end = ViewportLine("x" * 50 + "… +65,486 characters")
    assert view.lines == (end, ViewportLine("… 168,928 bytes not shown …", "note"), end)
    assert view.cut


def test_viewport_keeps_emoji_and_non_breaking_spaces() -> None:
    text = "⚠️ careful 👩‍💻 a\u00a0b e\u0301 日本"
    assert viewport(result(text.encode())).lines == (ViewportLine(text),)


@given(st.binary(max_size=400) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
@settings(deadline=None)
def test_viewport_lines_contain_no_control_or_invisible_characters(data: bytes) -> None:
    for line in viewport(result(data)).lines:
        assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in line.text)
        assert not set(line.text) & set(
            "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200e\u200f\ufeff"
        )


@given(st.lists(st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=20), max_size=60))
@settings(deadline=None)
def test_viewport_shown_and_hidden_lines_add_up(lines: list[str]) -> None:
    view = viewport(result("".join(f"{line}\n" for line in lines).encode()), most=10)
    assert sum(line.origin != "note" for line in view.lines) + view.hidden == len(lines)
