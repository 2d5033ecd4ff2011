"""The whole pipeline: what was captured in, what a model reads out."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.capture.record import Record
from nacre.output import Options, Shaped, shape
from nacre.output.decode import has_controls
from nacre.output.errors import ErrorLine, Scanner
from nacre.output.remarks import Middle
from nacre.output.shape import LEAST_CHARS
from nacre.output.tokens import tokens
from nacre.result import Captured, Spill

SMALL = Options(chars=600, lines=40)
FILE = Spill(path="/tmp/out.log", bytes=10**6, complete=True)


def captured(data: bytes, limit: int) -> Captured:
    record = Record(limit)
    record.add(data)
    return record.captured()


def middle_of(data: bytes, part: Captured) -> Middle:
    scanner = Scanner()
    scanner.feed(data[len(part.head) : len(part.head) + part.dropped])
    found = scanner.found()
    return Middle(scanner.lines, found, scanner.total)


def test_a_short_output_is_itself() -> None:
    assert shape(b"hello\n") == Shaped(text="hello", lines=1)
    assert shape(b"") == Shaped()
    assert shape("häß 👋".encode()) == Shaped(text="häß 👋")


def test_a_progress_bar_is_its_last_step() -> None:
    data = "".join(f"\r\x1b[2K{step}%" for step in range(1, 101)) + "\n"
    assert shape(data.encode()) == Shaped(text="100%", lines=1)


def test_what_is_left_out_is_counted_and_where_it_is_said() -> None:
    data = b"".join(b"%d\n" % number for number in range(1, 50_001)) + b"BOOM\n"
    made = shape(data, SMALL, spill=FILE)
    lines = made.text.split("\n")
    assert (lines[0], lines[-2], lines[-1]) == ("1", "50000", "BOOM")
    marker = lines.index(made.notes[0])
    span = f"{marker + 1},{50_001 - len(lines) + marker + 1}"
    counts = f"{made.omitted_lines:,} lines, {made.omitted_chars:,} characters"
    assert made.notes == (f"[… {counts} left out; to read it: sed -n '{span}p' /tmp/out.log]",)
    assert made.omitted_lines == 50_001 - len(lines) + 1
    assert made.omitted_bytes == made.omitted_chars
    assert len(made.text) <= SMALL.chars
    assert made.lines == 50_001


def test_errors_of_what_is_left_out_are_shown_with_their_lines() -> None:
    lines = [f"words and words {number}" for number in "abcdefghij" * 30]
    for place in (100, 120, 140, 160, 180, 200):
        lines[place] = f"error: number {place}"
    made = shape("\n".join(lines).encode(), Options(chars=2000, errors=3))
    assert made.notes[1:] == (
        "[… 6 of them tell of errors, 3 of these are:]",
        "[… 101: error: number 100]",
        "[… 121: error: number 120]",
        "[… 201: error: number 200]",
    )
    assert len(shape("\n".join(lines).encode(), Options(chars=2000, errors=0)).notes) == 1


def test_what_was_not_captured_is_counted_by_who_can_read_it() -> None:
    data = b"first\n" + b"".join(b"%dx\n" % number for number in range(5000)) + b"error: here\n" + b"y\nz\n" * 3000
    part = captured(data, 400)
    made = shape(part, SMALL, spill=FILE, middle=middle_of(data, part))
    raw = data.decode().split("\n")
    assert made.lines == data.count(b"\n")
    assert "[… 5002: error: here]" in made.notes
    first, last = (int(number) for number in made.notes[0].split("'")[1].removesuffix("p").split(","))
    head, tail = (part.split("\n") for part in made.text.split("\n" + "\n".join(made.notes) + "\n"))
    assert raw[: first - 1] == head[: first - 1]
    assert raw[last:-1] == tail[len(tail) - len(raw[last:-1]) :]
    assert made.omitted_lines in (last - first, last - first + 1)


def test_error_lines_are_within_the_limit_of_lines() -> None:
    data = "".join(f"error: {chr(97 + number % 26)}{number}\n" for number in range(3000))
    made = shape(data.encode(), Options(chars=3000, lines=10))
    assert made.text.count("\n") < 10
    assert made.notes[1] == "[… 1,000 of them or more tell of errors, 2 of these are:]"


def test_without_that_the_command_counts_bytes() -> None:
    part = captured(b"0123456789\n" * 1000, 400)
    made = shape(part, SMALL, spill=Spill(path="/tmp/a b.log", bytes=500, complete=False))
    assert (made.lines, made.omitted_lines) == (None, None)
    command = f"tail -c +{len(part.head) + 1} '/tmp/a b.log' | head -c {part.dropped}"
    kept = "the first 500 bytes of it all are kept"
    assert made.notes == (f"[… {made.omitted_bytes:,} bytes left out; {kept}; to read it: {command}]",)


def test_numbers_are_those_of_the_raw_lines_where_a_screen_was_redrawn() -> None:
    frames = "".join(f"one {step}\ntwo {step}\n\x1b[2A" for step in range(500))
    data = f"{frames}\n\n" + "".join(f"word {chr(97 + number % 26)}\n" for number in range(400)) + "error: last but\n"
    data += "".join(f"more {chr(97 + number % 26)}\n" for number in range(400))
    made = shape(data.encode(), SMALL, spill=FILE)
    place = data.split("\n").index("error: last but") + 1
    assert f"[… {place}: error: last but]" in made.notes


def test_a_path_that_is_too_long_for_the_limit_is_not_named() -> None:
    made = shape(b"d e\nf\n" * 1000, SMALL, spill=Spill("/x" * 500, 1, True))
    assert "/x" not in made.text
    assert len(made.text) <= SMALL.chars


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\0" * 100_000, "[binary output, not shown: nothing but NULs, 100,000 bytes]"),
        (b"\n" * 100_000, "\n[… 99,998 blank lines]\n"),
        (b"find\0print\0", "find␀print␀"),
        ("häß\r\nzwei".encode("utf-16"), "häß\nzwei"),
        (b"\x1b]52;c;aGk=\x07\x1b[2J", ""),
        (b"say:\n\x89PNG\r\n\x1a\n" + bytes(500), "say:\n[binary output, not shown: PNG image, 508 bytes]"),
    ],
)
def test_odd_outputs_are_small_and_sensible(data: bytes, text: str) -> None:
    assert shape(data).text == text


def test_a_huge_line_is_shown_from_both_ends() -> None:
    made = shape(b"a" * 5_000_000 + b"b" * 5_000_000)
    assert made.text.startswith("aaa")
    assert made.text.endswith("bbb")
    assert made.notes == (f"[… {made.omitted_chars:,} characters of line 1 left out]",)
    assert len(made.text) <= 30_000


def test_random_bytes_are_named() -> None:
    data = random.Random(1).randbytes(5_000_000)
    assert shape(captured(data, 1 << 20)).text == (
        f"[binary output, not shown: 5,000,000 bytes, the first are {data[:16].hex(' ')}]"
    )


def test_utf16_is_read_on_both_sides_of_a_gap() -> None:
    data = "\ufeff" + "äöü\n" * 3000
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le"):
        encoded = data.encode(encoding)
        part = Captured(head=encoded[:400], tail=encoded[-399:], seen=len(encoded), dropped=len(encoded) - 799)
        made = shape(part, Options(fold=False))
        assert "äöü\näöü" in made.text
        assert made.text.endswith("äöü")


def test_secrets_are_masked_wherever_they_are() -> None:
    secret = "correct-horse-battery"
    assert (
        shape(f"a {secret}\n\x1b[31mcorrect\x1b[0m-horse-battery\n".encode(), secrets=[secret]).text
        == "a [secret]\n[secret]"
    )
    filler = "".join(f"words {chr(97 + number % 26)}\n" for number in range(300))
    data = f"{filler}error: {secret}\n{filler}".encode()
    made = shape(data, SMALL, secrets=[secret])
    assert "[… 301: error: [secret]]" in made.notes
    for limit in range(40, 120):
        part = captured(f"{'x' * 30} {secret} {'y' * 2000} {secret} {'z' * 30}".encode(), limit)
        middle = Middle(3, (ErrorLine(1, f"error: {secret}"),), 1)
        text = shape(part, SMALL, secrets=[secret], middle=middle).text
        assert not any(secret[place : place + 4] in text for place in range(len(secret) - 3))


def test_options_that_leave_no_room_are_refused() -> None:
    for wrong in ({"chars": LEAST_CHARS - 1}, {"lines": 1}, {"head": 2.0}, {"tokens": 3}, {"errors": -1}):
        with pytest.raises(ValueError, match="so little"):
            Options(**wrong)


PIECES = st.lists(
    st.one_of(
        st.binary(max_size=30),
        st.text(max_size=30).map(lambda text: text.encode("utf-8", "replace")),
        st.sampled_from(
            [b"\n", b"\r", b"\x1b[2K\r", b"\x1b[1A", b"\x1b[31mred\x1b[0m", b"\x1b]8;;x\x07", b"error: x\n", b"\x1b[J"]
        ),
        st.tuples(st.text("abc 1\n", min_size=1, max_size=9), st.integers(1, 300)).map(
            lambda drawn: (drawn[0] * drawn[1]).encode()
        ),
    ),
    max_size=30,
).map(b"".join)


@given(
    PIECES,
    st.integers(0, 4000),
    st.integers(LEAST_CHARS, 3000),
    st.integers(10, 100),
    st.none() | st.integers(LEAST_CHARS, 1000),
    st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_any_bytes_become_text_within_the_limits(
    data: bytes, limit: int, chars: int, lines: int, budget: int | None, known: bool
) -> None:
    part = captured(data, limit)
    options = Options(chars=chars, lines=lines, tokens=budget)
    made = shape(part, options, spill=FILE, middle=middle_of(data, part) if known else None)
    assert len(made.text) <= chars
    assert made.text.count("\n") < lines
    if budget is not None:
        assert tokens(made.text) <= budget
    assert not has_controls(made.text)
    assert json.loads(json.dumps(made.text)) == made.text


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"], include_characters="\n"), max_size=3000), st.floats(0, 1))
@settings(deadline=None)
def test_counts_are_exact(text: str, share: float) -> None:
    text = text.removeprefix("\ufeff")
    made = shape(text.encode(), Options(chars=600, lines=30, head=share, fold=False, errors=0))
    if made.binary:
        return
    if not made.notes:
        assert made.text == text.removesuffix("\n")
        return
    head, tail = made.text.split(made.notes[0])
    length = len(head.removesuffix("\n")), len(tail.removeprefix("\n"))
    first, last = text[: length[0]], text.removesuffix("\n")[-length[1] :] if length[1] else ""
    assert (head.removesuffix("\n"), tail.removeprefix("\n")) == (first, last)
    assert 0 <= len(text) - sum(length) - made.omitted_chars <= 2
    assert made.omitted_lines is not None
    assert 0 <= text.count("\n") - first.count("\n") - last.count("\n") - made.omitted_lines <= 2
