"""Folding of similar lines."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.output.fold import (
    MIN_HIDDEN_NUMBERED_LINES,
    MIN_HIDDEN_PROGRESS_LINES,
    FoldedLines,
    backward,
    fold,
    forward,
    plain_backward,
    plain_forward,
)


def numbered_lines(form: str, count: int) -> str:
    return "".join(form.format(number) + "\n" for number in range(1, count + 1))


def test_similar_lines_are_folded_to_first_count_and_last() -> None:
    assert fold(numbered_lines("copied item {} of the lot", 100)) == (
        "copied item 1 of the lot\n[… 98 similar lines]\ncopied item 100 of the lot\n"
    )


@pytest.mark.parametrize(
    "form",
    [
        "[{}%] Building CXX object src/file{}.o",
        "tests/test_a.py::test_{} PASSED   [ {}%]",
        "test module::case_{} ... ok",
        "--- PASS: TestCase{} (0.00s)",
        "   Compiling crate-{} v1.{}.0",
        "Get:{} http://example.org/debian bookworm/main amd64 Packages [{} kB]",
        "2026-01-02 10:00:{} INFO request done in 3.{} ms",
        "Jan  2 10:00:{} host daemon[12]: tick",
        "[10:11:{}] tick tock",
        "downloaded {}% [=====>     ] 3.{} MB/s",
        "2026-01-02T10:00:{}.123Z request 7{} is done",
        "  {}% done, 3.{} MB/s, 17 s left",
        "({}/99) fetched the part",
    ],
)
def test_progress_lines_are_folded_after_few_repeats(form: str) -> None:
    lines = [form.replace("{}", f"{number:02}") for number in range(MIN_HIDDEN_PROGRESS_LINES + 2)]
    assert fold("\n".join(lines)) == f"{lines[0]}\n[… {MIN_HIDDEN_PROGRESS_LINES} similar lines]\n{lines[-1]}"
    assert fold("\n".join(lines[1:])) == "\n".join(lines[1:])


def test_interleaved_lines_of_one_family_are_folded() -> None:
    trio = (
        "Selecting previously unselected package {0}.\nPreparing to unpack .../{0}.deb ...\nUnpacking {0} (1.0) ...\n"
    )
    text = "".join(trio.format(name) for name in ("anna", "berta", "carl", "dora"))
    assert fold(text) == (
        "Selecting previously unselected package anna.\n[… 10 similar lines]\nUnpacking dora (1.0) ...\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        numbered_lines("{}", 500),
        numbered_lines("2024-01-02,AAPL,1{},17.5,18", 500),
        numbered_lines("0000{} 4865 6c6c 6f20 776f 726c 640a", 500),
        numbered_lines("name of file {}.txt", MIN_HIDDEN_NUMBERED_LINES + 1),
        numbered_lines("error: number {} is wrong", 500),
        numbered_lines("warning: unused variable x{}", 500),
        numbered_lines("tests/test_a.py::test_{} FAILED [ 5%]", 500),
        "".join(f"E   - {number}\n" for number in range(100)),
        "a\nb\n" * 100,
        numbered_lines("{}:        return None", 500),
        numbered_lines("src/main.py:{}:        return None", 500),
        numbered_lines("src/main.py-{}-        return None", 500),
        numbered_lines("  {}\treturn None or so", 500),
        numbered_lines("src/a.c:{}:5: note: declared here", 500),
        numbered_lines("/dev/sd{0}  100G  20G  20% /mnt/disk{0}", 500),
        "".join(f"/dev/sd{n} 100G {n * 7 % 13}G {n * 7 % 13}% /mnt/disk{n}\n" for n in range(100)),
        "".join(f"size of part {n} is {n * 7919 % 1000} kB\n" for n in range(200)),
        "".join(f"commit {n * 7919 * 7919:08x}a is fine, 12%\n" for n in range(100)),
        "".join(f"10:00:{n % 60:02} answered in {n * 31 % 17} ms\n" for n in range(200)),
        "".join(f"file number {n * n} of the lot\n" for n in range(200)),
        "".join(f"value number {n} {'#' * (4 + n * 7 % 13)}\n" for n in range(200)),
        "".join(f"address 10.0.{n}.1 is in use\n" for n in range(200)),
        "".join(f"GET /a/{n}/9 answered {200 if n < 99 else 500}, fine\n" for n in range(0, 400, 3) if n % 7),
    ],
)
def test_data_and_differing_failures_are_not_folded(text: str) -> None:
    assert fold(text) == text


def test_failed_test_splits_a_folded_run() -> None:
    passed = [f"t.py::test_{number} PASSED [ 1%]" for number in range(40)]
    failed = "t.py::test_x FAILED [ 1%]"
    assert fold("\n".join([*passed[:20], failed, *passed[20:]])) == "\n".join(
        [passed[0], "[… 18 similar lines]", passed[19], failed, passed[20], "[… 18 similar lines]", passed[39]]
    )


@pytest.mark.parametrize(
    ("form", "usual", "other"),
    [
        ("10:00:{0:02} worker {0} exited with code {1}", "0", "137"),
        ("10:00:{0:02} GET /users/{0} {1} 3ms", "200", "500"),
        ("case {0}: expected 5 got {1}", "5", "7"),
        ("part {0} is {1}% full", "20", "100"),
        ("{0}% done, answer {1}", "5", "3"),
    ],
)
def test_unusual_value_in_a_line_splits_a_folded_run(form: str, usual: str, other: str) -> None:
    lines = [form.format(number, other if number == 60 else usual) for number in range(120)]
    assert fold("\n".join(lines)).split("\n") == [
        *(lines[0], "[… 58 similar lines]", lines[59]),
        lines[60],
        *(lines[61], "[… 57 similar lines]", lines[119]),
    ]
    few = [form.format(number, other if number == 4 else usual) for number in range(9)]
    assert fold("\n".join(few)) == "\n".join(few)


def test_identical_folded_lines_do_not_count_as_similar() -> None:
    text = "the same line again\n" * 20 + numbered_lines("copied item {} of the lot", 100)
    assert [(piece.hidden, piece.similar) for piece in forward(text, 0, len(text))] == [(18, 0), (98, 98)]


def test_warning_splits_a_folded_run_of_numbered_lines() -> None:
    lines = [f"step {number} of many is done" for number in range(200)]
    noted = [*lines[:100], "warning: step 7 is late", *lines[100:]]
    assert fold("\n".join(noted)).split("\n") == [
        *(lines[0], "[… 98 similar lines]", lines[99]),
        "warning: step 7 is late",
        *(lines[100], "[… 98 similar lines]", lines[199]),
    ]


def test_identical_errors_are_folded() -> None:
    assert fold("error: 7 is wrong\n" * 50) == "error: 7 is wrong\n[… 48 identical lines]\nerror: 7 is wrong\n"


def test_lines_are_folded_only_when_that_shortens_the_text() -> None:
    assert fold("\n" * 20) == "\n" * 20
    assert fold("\n" * 100) == "\n[… 98 blank lines]\n\n"
    assert fold("y\n" * 10) == "y\n" * 10
    assert fold("abc def ghi jkl mno\n" * 4) == "abc def ghi jkl mno\n" * 4
    assert fold("abc def ghi jkl mno\n" * 5).count("\n") == 3


def test_folded_pieces_have_their_source_range_and_counts() -> None:
    text = "start\n" + "same line again and again\n" * 10 + "end"
    assert list(forward(text, 0, len(text))) == [
        FoldedLines("start", 0, 6),
        FoldedLines("same line again and again\n[… 8 identical lines]\nsame line again and again", 6, 266, 10, 8),
        FoldedLines("end", 266, 269),
    ]


LINES = st.lists(
    st.one_of(
        st.sampled_from(["", "same", "x\tsame", "error: 1", "error: 2", "a.py::b PASSED", "sam", "me", "esame"]),
        st.integers(0, 200).map(lambda number: f"done with number {number} of the lot"),
        st.integers(0, 200).map(str),
    ).flatmap(lambda line: st.integers(1, 60).map(lambda times: [line] * times)),
    max_size=12,
).map(lambda groups: "\n".join(line for group in groups for line in group))


@given(LINES, st.booleans())
@settings(deadline=None)
def test_forward_and_backward_folding_agree_and_cover_the_text(text: str, newline: bool) -> None:
    text += "\n" * newline
    for there, back in ((forward, backward), (plain_forward, plain_backward)):
        pieces = list(there(text, 0, len(text)))
        assert list(back(text, 0, len(text))) == pieces[::-1]
        place = 0
        for piece in pieces:
            assert piece.start == place
            place = piece.end
            part = text[piece.start : piece.end]
            assert piece.lines == part.count("\n") + (not part.endswith("\n"))
            assert piece.lines - piece.hidden == piece.text.count("\n") + 1 - bool(piece.hidden)
            assert len(piece.text) <= len(part)
            if not piece.hidden:
                assert part.removesuffix("\n") == piece.text
        assert place == len(text)


@given(LINES, st.data())
@settings(deadline=None)
def test_folding_of_a_range_covers_exactly_that_range(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    pieces = list(forward(text, start, end))
    assert list(backward(text, start, end)) == pieces[::-1]
    assert "".join(text[piece.start : piece.end] for piece in pieces) == text[start:end]
