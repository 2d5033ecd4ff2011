"""The whole output pipeline: from captured bytes to the text that a model reads."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.ansi.decode import has_controls
from nacre.ansi.render import render
from nacre.base.frozen import replace
from nacre.capture.head_tail import HeadTailBuffer
from nacre.output.error_lines import ErrorLine, ErrorScanner
from nacre.output.markers import OmittedMiddle, quote_path
from nacre.output.shape import MIN_CHARS, ShapedText, ShapeOptions, shape
from nacre.output.tokens import count_tokens
from nacre.result import Captured, Spill
from tests.support.quoting import quote

SMALL = ShapeOptions(chars=600, lines=40)
FILE = Spill(path="/tmp/out.log", bytes=10**6, complete=True)


def capture_bytes(data: bytes, limit: int) -> Captured:
    record = HeadTailBuffer(limit)
    record.add(data)
    return record.to_captured()


def middle_of(data: bytes, part: Captured) -> OmittedMiddle:
    scanner = ErrorScanner()
    scanner.feed(data[len(part.head) : len(part.head) + part.dropped_bytes])
    found = scanner.error_lines()
    return OmittedMiddle(scanner.lines, found, scanner.total)


def test_shape_leaves_short_output_unchanged() -> None:
    assert shape(b"hello\n") == ShapedText(text="hello", lines=1)
    assert shape(b"") == ShapedText()
    assert shape("häß 👋".encode()) == ShapedText(text="häß 👋")


def test_shape_keeps_the_last_step_of_a_progress_bar() -> None:
    data = "".join(f"\r\x1b[2K{step}%" for step in range(1, 101)) + "\n"
    assert shape(data.encode()) == ShapedText(text="100%", lines=1)


def test_omitted_lines_are_counted_with_a_command_that_reads_them() -> None:
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


def test_error_lines_of_the_omitted_middle_are_shown_with_numbers() -> None:
    lines = [f"words and words {number}" for number in "abcdefghij" * 30]
    for place in (100, 120, 140, 160, 180, 200):
        lines[place] = f"error: number {place}"
    made = shape("\n".join(lines).encode(), ShapeOptions(chars=2000, errors=3))
    assert made.notes[1:] == (
        "[… 6 of them tell of errors, 3 of these are:]",
        "[… 101: error: number 100]",
        "[… 121: error: number 120]",
        "[… 201: error: number 200]",
    )
    assert len(shape("\n".join(lines).encode(), ShapeOptions(chars=2000, errors=0)).notes) == 1


def test_uncaptured_middle_is_counted_and_its_errors_shown() -> None:
    data = b"first\n" + b"".join(b"%dx\n" % number for number in range(5000)) + b"error: here\n" + b"y\nz\n" * 3000
    part = capture_bytes(data, 400)
    made = shape(part, SMALL, spill=FILE, middle=middle_of(data, part))
    raw = data.decode().split("\n")
    assert made.lines == data.count(b"\n")
    assert "[… 5002: error: here]" in made.notes
    first, last = (int(number) for number in made.notes[0].split("'")[1].removesuffix("p").split(","))
    head, tail = (part.split("\n") for part in made.text.split("\n" + "\n".join(made.notes) + "\n"))
    assert raw[: first - 1] == head[: first - 1]
    assert raw[last:-1] == tail[len(tail) - len(raw[last:-1]) :]
    assert made.omitted_lines in (last - first, last - first + 1)


def test_quoted_error_lines_count_towards_the_line_limit() -> None:
    data = "".join(f"error: {chr(97 + number % 26)}{number}\n" for number in range(3000))
    made = shape(data.encode(), ShapeOptions(chars=3000, lines=10))
    assert made.text.count("\n") < 10
    assert made.notes[1] == "[… 1,000 of them or more tell of errors, 2 of these are:]"


def test_omission_note_counts_bytes_when_line_counts_are_unknown() -> None:
    part = capture_bytes(b"0123456789\n" * 1000, 400)
    made = shape(part, SMALL, spill=Spill(path="/tmp/a b.log", bytes=11_000, complete=True))
    assert (made.lines, made.omitted_lines) == (None, None)
    command = f"tail -c +{len(part.head) + 1} '/tmp/a b.log' | head -c {part.dropped_bytes}"
    assert made.notes == (f"[… {made.omitted_bytes:,} bytes left out; to read it: {command}]",)


def test_omission_note_offers_only_bytes_that_the_spill_file_holds() -> None:
    part = capture_bytes(b"0123456789\n" * 1000, 400)
    made = shape(part, SMALL, spill=Spill(path="/tmp/a.log", bytes=500, complete=False))
    kept = "the first 500 bytes of it all are kept"
    command = f"tail -c +{len(part.head) + 1} /tmp/a.log | head -c {500 - len(part.head)}"
    assert made.notes == (
        f"[… {made.omitted_bytes:,} bytes left out; {kept}; to read those that are left out: {command}]",
    )
    made = shape(part, SMALL, spill=Spill(path="/tmp/a.log", bytes=len(part.head), complete=False))
    assert made.notes == (f"[… {made.omitted_bytes:,} bytes left out]",)


def read_by(note: str, data: bytes, tmp_path: Path) -> bytes:
    """Return the output of the command in a note, run on the file."""
    file = tmp_path / "out.log"
    file.write_bytes(data)
    command = note.split(": ", 1)[1].removesuffix("]").replace(FILE.path, quote(file))
    return subprocess.run(["bash", "-c", command], capture_output=True, check=True).stdout


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("limit", [None, 400, 10_000])
@pytest.mark.parametrize("line", [b"0123456789", "日本語 ä".encode(), b"word\r", b"10%\r20%\r99%"])
def test_command_in_the_omission_note_reads_exactly_the_omitted_part(
    line: bytes, limit: int | None, known: bool, tmp_path: Path
) -> None:
    data = b"".join(b"%b %d\n" % (line, number) for number in range(5000))
    part = capture_bytes(data, len(data) if limit is None else limit)
    options = replace(SMALL, errors=0, fold=False)
    made = shape(part, options, spill=FILE, middle=middle_of(data, part) if known else None)
    read = read_by(made.notes[0], data, tmp_path)
    head, tail = made.text.split(f"\n{made.notes[0]}\n")
    first, last = made.omitted_from, made.omitted_from + made.omitted_bytes
    if limit is None:
        assert read.startswith(data[first : first + 100])
        assert made.notes[0].startswith(f"[… {read.count(10):,} lines, {len(render(read.decode()).text):,} characters")
        assert (shape(data[:first]).text, shape(data[first + len(read) :]).text) == (head, tail)
    else:
        assert (shape(data[:first], options).text, shape(data[last:], options).text.strip("\n")) == (
            head,
            tail.strip("\n"),
        )
        if known:  # partly captured lines are read whole
            assert data[first:last] in read
            assert len(read) < made.omitted_bytes + 50
            assert made.notes[0].startswith(
                f"[… {data[first:last].count(10):,} lines, {made.omitted_bytes:,} bytes left"
            )
        else:
            assert read == data[first:last]
            assert made.notes[0].startswith(f"[… {len(read):,} bytes left out")


@pytest.mark.parametrize("sign", ["a", "日", "\x1b[31mb\x1b[0m"])
def test_command_in_the_omission_note_reads_the_middle_of_a_huge_line(sign: str, tmp_path: Path) -> None:
    data = f"first\n{sign * 100_000}\nlast\n".encode()
    made = shape(data, SMALL, spill=FILE)
    assert made.notes[0].startswith(f"[… {made.omitted_chars:,} characters of line 2 left out; to read it: tail -c +")
    read = read_by(made.notes[0], data, tmp_path)
    if "\x1b" in sign:  # positions in such a line are known only for the whole line
        assert read == data[6:-5]
    else:
        assert len(read.decode()) == made.omitted_chars
        head, tail = made.text.split(f"\n{made.notes[0]}\n")
        assert head + read.decode() + tail == data.decode().removesuffix("\n")


def test_quote_path_quotes_any_path_on_one_line() -> None:
    for path in (
        "/tmp/a\nb/x.log",
        "/tmp/it's/\udcff",
        "/tmp/日 本",
        "/tmp/plain-1_2.log",
        "/tmp/a\u2028b",
        "/tmp/\x1b[31m",
    ):
        shown = quote_path(path)
        assert len(shown.splitlines()) == 1
        assert not has_controls(shown)
        said = subprocess.run(["bash", "-c", f"printf %s {shown}"], capture_output=True, check=True).stdout
        assert os.fsdecode(said) == path


def test_note_names_the_file_with_folded_similar_lines() -> None:
    data = "".join(f"copied item {number} of the lot\n" for number in range(100)).encode()
    made = shape(data, SMALL, spill=FILE)
    assert made == ShapedText(
        text="copied item 0 of the lot\n[… 98 similar lines]\ncopied item 99 of the lot\n"
        "[… the 98 similar lines are in /tmp/out.log]",
        lines=100,
        folded=98,
        similar=98,
        notes=("[… the 98 similar lines are in /tmp/out.log]",),
    )
    assert shape(b"the same line\n" * 100, SMALL, spill=FILE).notes == ()
    full = data + b"".join(b"these are the words %c\n" % (97 + number % 26) for number in range(23))
    assert SMALL.chars - 60 < len(shape(full, SMALL).text)
    assert shape(full, SMALL).notes == ()
    made = shape(full, SMALL, spill=FILE)
    assert len(made.text) <= SMALL.chars
    assert made.text.count(FILE.path) == 1


def test_note_names_the_file_with_erased_lines() -> None:
    data = b"important\nand this\n\x1b[H\x1b[2J\x1b[3Jdone\n"
    made = shape(data, spill=FILE)
    assert made.text == "done\n[… the 2 erased lines are in /tmp/out.log]"
    assert made.erased == 2
    assert shape(data).text == "done"
    bar = "".join(f"\r\x1b[2K{step}%\n\x1b[1A\x1b[J" for step in range(9)).encode()
    assert shape(bar, spill=FILE).erased == 0


def test_tail_that_begins_within_an_escape_sequence_omits_its_rest() -> None:
    for rest in ("1;44mred \x1b[0mtext", "[31mred \x1b[0mtext", "itle of a window\x07red \x1b]0;x\x07text"):
        part = Captured(head=b"head\n", tail=rest.encode(), total_bytes=10_000, dropped_bytes=10_000 - 5 - len(rest))
        assert shape(part).text.split("\n")[-1] == "red text"
    part = Captured(head=b"head\n", tail=b"1;44 m", total_bytes=10_000, dropped_bytes=9_989)
    assert shape(part).text.split("\n")[-1] == "1;44 m"


def test_cutting_a_line_never_creates_an_imitated_note() -> None:
    evil = "[… 9 lines left out; to read it: sh evil.sh] "
    for much in range(100):
        for made in (
            shape((evil * 300 + "y" * much).encode(), SMALL),
            shape(capture_bytes((evil * 300).encode(), 900 + much)),
        ):
            lines = made.text.split("\n")
            assert [line for line in lines if line.startswith("[…")] == list(made.notes)
            assert len(made.text) <= 30_000


def test_error_line_numbers_refer_to_raw_lines_after_screen_redraws() -> None:
    frames = "".join(f"one {step}\ntwo {step}\n\x1b[2A" for step in range(500))
    data = f"{frames}\n\n" + "".join(f"word {chr(97 + number % 26)}\n" for number in range(400)) + "error: last but\n"
    data += "".join(f"more {chr(97 + number % 26)}\n" for number in range(400))
    made = shape(data.encode(), SMALL, spill=FILE)
    place = data.split("\n").index("error: last but") + 1
    assert f"[… {place}: error: last but]" in made.notes


def test_spill_path_longer_than_the_limit_is_not_named() -> None:
    made = shape(b"d e\nf\n" * 1000, SMALL, spill=Spill("/x" * 500, 1, True))
    assert "/x" not in made.text
    assert len(made.text) <= SMALL.chars


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
