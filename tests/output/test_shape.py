"""The whole output pipeline: from captured bytes to the text that a model reads."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.ansi.decode import has_controls
from nacre.output.error_lines import ErrorLine
from nacre.output.markers import OmittedMiddle
from nacre.output.shape import MIN_CHARS, ShapedText, ShapeOptions, shape
from nacre.output.tokens import count_tokens
from nacre.result import Captured, Spill
from tests.output.captures import FILE, SMALL, capture_bytes, middle_of


def test_shape_leaves_short_output_unchanged() -> None:
    assert shape(b"hello\n") == ShapedText(text="hello", lines=1)
    assert shape(b"") == ShapedText()
    assert shape("häß 👋".encode()) == ShapedText(text="häß 👋")


def test_shape_keeps_the_last_step_of_a_progress_bar() -> None:
    data = "".join(f"\r\x1b[2K{step}%" for step in range(1, 101)) + "\n"
    assert shape(data.encode()) == ShapedText(text="100%", lines=1)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\0" * 100_000, "[binary output, not shown: nothing but NULs, 100,000 bytes]"),
        (b"\n" * 100_000, "\n[… 99,998 blank lines]\n"),
        (
            b"\n" * 999_900 + bytes(100),
            "\n[… 999,898 blank lines]\n\n[binary output, not shown: nothing but NULs, 100 bytes]",
        ),
        (b"\x1b[2J\x1b[200H" * 20_000, "\n[… 197 blank lines]\n"),
        (
            b"saving\n\x89PNG\r\n\x1a\n" + bytes(9) + b"\ndone\n",
            "saving\n[binary output, not shown: PNG image, 18 bytes]\ndone",
        ),
        (b"find\0print\0", "find␀print␀"),
        ("häß\r\nzwei".encode("utf-16"), "häß\nzwei"),
        (b"\x1b]52;c;aGk=\x07\x1b[2J", ""),
        (b"say:\n\x89PNG\r\n\x1a\n" + bytes(500), "say:\n[binary output, not shown: PNG image, 508 bytes]"),
    ],
)
def test_binary_blank_and_utf16_outputs_have_a_short_text(data: bytes, text: str) -> None:
    assert shape(data).text == text


def test_huge_line_is_shown_from_both_ends() -> None:
    made = shape(b"a" * 5_000_000 + b"b" * 5_000_000)
    assert made.text.startswith("aaa")
    assert made.text.endswith("bbb")
    assert made.notes == (f"[… {made.omitted_chars:,} characters of line 1 left out]",)
    assert len(made.text) <= 30_000


def test_random_bytes_are_described_as_binary_output() -> None:
    data = random.Random(1).randbytes(5_000_000)
    assert shape(capture_bytes(data, 1 << 20)).text == (
        f"[binary output, not shown: 5,000,000 bytes, the first are {data[:16].hex(' ')}]"
    )


def test_utf16_is_decoded_on_both_sides_of_a_gap() -> None:
    data = "\ufeff" + "äöü\n" * 3000
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le"):
        encoded = data.encode(encoding)
        part = Captured(
            head=encoded[:400], tail=encoded[-399:], total_bytes=len(encoded), dropped_bytes=len(encoded) - 799
        )
        made = shape(part, ShapeOptions(fold=False))
        assert "äöü\näöü" in made.text
        assert made.text.endswith("äöü")


def test_secrets_are_masked_in_output_error_lines_and_at_gaps() -> None:
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
        part = capture_bytes(f"{'x' * 30} {secret} {'y' * 2000} {secret} {'z' * 30}".encode(), limit)
        middle = OmittedMiddle(3, (ErrorLine(1, f"error: {secret}"),), 1)
        text = shape(part, SMALL, secrets=[secret], middle=middle).text
        assert not any(secret[place : place + 4] in text for place in range(len(secret) - 3))


HALVES = "hunter2HUNTER3hunter4xyz"


def test_description_of_binary_output_omits_bytes_with_a_secret() -> None:
    data = b"\0\1\0\2" + HALVES.encode() + bytes(range(200))
    assert "68 75 6e" in shape(data).text
    assert shape(data, secrets=[HALVES]).text == f"[binary output, not shown: {len(data)} bytes]"


def test_spill_path_that_contains_a_secret_is_not_named() -> None:
    spill = Spill(path=f"/tmp/{HALVES}/out.log", bytes=10**6, complete=True)
    for data in (b"d e\nf\n" * 1000, bytes(range(256)) * 9, b"".join(b"copied item %d\n" % n for n in range(99))):
        made = shape(data, SMALL, spill=spill, secrets=[HALVES])
        assert "out.log" not in made.text
        assert "out.log" in shape(data, SMALL, spill=spill).text


def test_secret_across_the_gap_is_masked_in_its_error_line() -> None:
    lines = "x\n" * 100
    data = f"{lines}{HALVES} error: foo\n{lines * 20}error: {HALVES}{lines}".encode()
    for limit in range(380, 470):
        part = capture_bytes(data, limit)
        made = shape(part, SMALL, secrets=[HALVES], middle=middle_of(data, part))
        assert not any(HALVES[place : place + 5] in made.text for place in range(len(HALVES) - 4))


def test_shape_options_reject_limits_that_are_too_small() -> None:
    for chars, lines, most in ((MIN_CHARS - 1, 10, None), (MIN_CHARS, 1, None), (MIN_CHARS, 10, 3)):
        with pytest.raises(ValueError, match="too small"):
            ShapeOptions(chars=chars, lines=lines, tokens=most)
    with pytest.raises(ValueError, match=r"fraction from 0 to 1, not 2\.0"):
        ShapeOptions(head=2.0)
    with pytest.raises(ValueError, match="not -1"):
        ShapeOptions(errors=-1)


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
    st.integers(MIN_CHARS, 3000),
    st.integers(10, 100),
    st.none() | st.integers(MIN_CHARS, 1000),
    st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_shaped_bytes_stay_within_every_limit(
    data: bytes, limit: int, chars: int, lines: int, budget: int | None, known: bool
) -> None:
    part = capture_bytes(data, limit)
    options = ShapeOptions(chars=chars, lines=lines, tokens=budget)
    made = shape(part, options, spill=FILE, middle=middle_of(data, part) if known else None)
    assert len(made.text) <= chars
    assert made.text.count("\n") < lines
    if budget is not None:
        assert count_tokens(made.text) <= budget
    assert not has_controls(made.text)
    assert json.loads(json.dumps(made.text)) == made.text


@given(
    st.lists(
        st.sampled_from(
            ["错误 Error: 文件找不到 文件找不到 文件找不到", "error: x", "words", "👋" * 30, "[… y", "日" * 400, "é"]
        ),
        min_size=1,
    ),
    st.integers(20, 200),
    st.integers(0, 2000),
    st.integers(125, 700),
    st.integers(0, 20),
    st.sampled_from(["/tmp/x.log", "/tmp/" + "日本" * 20, "/tmp/" + "d/" * 200]),
)
@settings(deadline=None)
def test_token_limit_holds_with_error_lines_in_any_script(
    lines: list[str], times: int, limit: int, budget: int, errors: int, path: str
) -> None:
    data = "".join(f"{line}{number}\n" for number, line in enumerate(lines * times)).encode()
    part = capture_bytes(data, limit)
    options = ShapeOptions(tokens=budget, errors=errors, chars=3000)
    made = shape(part, options, spill=Spill(path, len(data), complete=True), middle=middle_of(data, part))
    assert count_tokens(made.text) <= budget
    assert len(made.text) <= 3000


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"], include_characters="\n"), max_size=3000), st.floats(0, 1))
@settings(deadline=None)
def test_omitted_line_and_character_counts_are_within_two(text: str, share: float) -> None:
    text = text.removeprefix("\ufeff")
    made = shape(text.encode(), ShapeOptions(chars=600, lines=30, head=share, fold=False, errors=0))
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
