"""The omitted middle of an output: its size, its errors, and the command that reads it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from nacre.ansi.decode import has_controls
from nacre.ansi.render import render
from nacre.base.frozen import replace
from nacre.output.markers import quote_path
from nacre.output.shape import ShapedText, ShapeOptions, shape
from nacre.result import Captured, Spill
from tests.output.captures import FILE, SMALL, capture_bytes, middle_of
from tests.support.quoting import quote


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


def run_note_command(note: str, data: bytes, tmp_path: Path) -> bytes:
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
    read = run_note_command(made.notes[0], data, tmp_path)
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
    read = run_note_command(made.notes[0], data, tmp_path)
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
