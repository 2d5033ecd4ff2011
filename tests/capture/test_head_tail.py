"""Record, Collector and the UTF-8 cutting points, for any input in any pieces."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nacre.base.utf8 import continuation_prefix, incomplete_suffix
from nacre.capture import Collector
from nacre.capture.head_tail import HeadTailBuffer
from nacre.result import Captured

PIECES = st.lists(st.binary(max_size=200), max_size=30)
TEXTS = st.lists(st.text(alphabet="aß€😀\n", max_size=20).map(str.encode), max_size=20)
LIMITS = st.integers(0, 500)
STREAMS: tuple[Literal["stdout", "stderr"], ...] = ("stdout", "stderr")
WRITES = st.lists(st.tuples(st.sampled_from(STREAMS), st.binary(max_size=50)), max_size=30)


def record_of(pieces: list[bytes], limit: int) -> Captured:
    record = HeadTailBuffer(limit)
    for piece in pieces:
        record.add(piece)
    return record.to_captured()


@given(PIECES, LIMITS)
@example([b"x"], 0)
@example([b"xy"], 1)
@example([b"\x80" * 10], 4)
def test_head_dropped_bytes_and_tail_add_up_to_the_whole(pieces: list[bytes], limit: int) -> None:
    whole = b"".join(pieces)
    captured = record_of(pieces, limit)
    assert captured.total_bytes == len(whole)
    assert len(captured.head) + captured.dropped_bytes + len(captured.tail) == len(whole)
    assert whole.startswith(captured.head)
    assert whole.endswith(captured.tail)
    assert len(captured.head) + len(captured.tail) <= limit
    assert bool(captured.dropped_bytes) == (len(whole) > limit)


@given(TEXTS, LIMITS)
def test_dropped_characters_are_counted_exactly(pieces: list[bytes], limit: int) -> None:
    captured = record_of(pieces, limit)
    kept = (captured.head + captured.tail).decode()
    assert captured.dropped_chars == len(b"".join(pieces).decode()) - len(kept)


@given(PIECES, LIMITS)
def test_no_more_is_dropped_than_the_limit_requires(pieces: list[bytes], limit: int) -> None:
    captured = record_of(pieces, limit)
    needed = max(0, captured.total_bytes - limit)
    assert needed <= captured.dropped_bytes <= needed + (6 if needed else 0)


@given(TEXTS, st.integers(0, 60))
def test_valid_text_is_cut_only_between_characters(pieces: list[bytes], limit: int) -> None:
    captured = record_of(pieces, limit)
    if captured.dropped_bytes:
        captured.head.decode()
        captured.tail.decode()
    assert "\ufffd" not in captured.text


@given(st.lists(st.integers(1, 300), max_size=20), st.integers(1, 100))
def test_captured_output_does_not_depend_on_how_it_was_split(cuts: list[int], limit: int) -> None:
    whole = bytes(range(256)) * 8
    pieces, rest = [], whole
    for cut in cuts:
        pieces.append(rest[:cut])
        rest = rest[cut:]
    assert record_of([*pieces, rest], limit) == record_of([whole], limit)


@pytest.mark.parametrize("size", [1, 100, 65_535, 65_536, 200_000])
def test_buffered_size_stays_near_the_limit_for_any_piece_size(size: int) -> None:
    record = HeadTailBuffer(1_000_000)
    for _ in range(3_000_000 // size):
        record.add(b"x" * size)
    held = sum(map(len, record._head)) + sum(map(len, record._tail))
    assert held <= 1_000_000 + max(size, 65_536)


@given(st.text())
def test_complete_text_has_no_incomplete_suffix(text: str) -> None:
    assert incomplete_suffix(text.encode()) == 0


@given(st.text(max_size=10), st.characters(min_codepoint=0x80, blacklist_categories=["Cs"]), st.data())
def test_character_cut_in_two_is_detected_at_both_ends(text: str, character: str, data: st.DataObject) -> None:
    encoded = character.encode()
    cut = data.draw(st.integers(1, len(encoded) - 1))
    assert incomplete_suffix(text.encode() + encoded[:cut]) == cut
    assert continuation_prefix(encoded[cut:] + text.encode()) == len(encoded) - cut


@given(st.binary(max_size=10))
def test_cut_detection_accepts_any_bytes(data: bytes) -> None:
    assert 0 <= incomplete_suffix(data) <= min(3, len(data))
    assert 0 <= continuation_prefix(data) <= min(3, len(data))


def collector(limit: int, directory: Path, *, merge: bool = False, spill: int = 0) -> Collector:
    return Collector(limit=limit, spill=spill, directory=lambda: str(directory), name="bash", merge=merge)


@given(WRITES)
def test_collector_returns_exactly_the_bytes_it_was_fed(
    writes: list[tuple[Literal["stdout", "stderr"], bytes]],
) -> None:
    kept = collector(10_000, Path("/nowhere"))
    shown = [(stream, kept.feed(stream, data)) for stream, data in writes]
    shown += kept.flush()
    out, err, both = kept.to_captured()
    for stream, captured in (("stdout", out), ("stderr", err)):
        given_to_it = b"".join(data for name, data in writes if name == stream)
        assert captured.head + captured.tail == given_to_it
        assert b"".join(data for name, data in shown if name == stream) == given_to_it
    assert both.head + both.tail == b"".join(data for _, data in shown)
    assert kept.close() is None


@given(st.text(alphabet="aß€😀", max_size=20), st.text(alphabet="aß€😀", max_size=20), st.data())
def test_each_chunk_of_valid_text_decodes_alone(out: str, err: str, data: st.DataObject) -> None:
    kept = collector(10_000, Path("/nowhere"))
    rest = {"stdout": out.encode(), "stderr": err.encode()}
    while any(rest.values()):
        stream = data.draw(st.sampled_from([name for name in STREAMS if rest[name]]))
        size = data.draw(st.integers(1, 3))
        kept.feed(stream, rest[stream][:size]).decode()
        rest[stream] = rest[stream][size:]
    assert kept.flush() == []
    captured = kept.to_captured()
    assert [part.text for part in captured[:2]] == [out, err]
    assert "\ufffd" not in captured[2].text


@given(writes=WRITES, limit=st.integers(0, 200), cap=st.integers(0, 400), merge=st.booleans())
def test_spill_file_holds_the_beginning_of_the_output(
    tmp_path_factory: pytest.TempPathFactory,
    writes: list[tuple[Literal["stdout", "stderr"], bytes]],
    limit: int,
    cap: int,
    merge: bool,
) -> None:
    directory = tmp_path_factory.mktemp("spill")
    writes = [("stdout", data) for _, data in writes] if merge else writes
    kept = collector(limit, directory, merge=merge, spill=cap)
    shown = b"".join(kept.feed(stream, data) for stream, data in writes) + b"".join(data for _, data in kept.flush())
    spill = kept.close()
    if len(shown) <= limit or not cap:
        assert (spill, list(directory.iterdir())) == (None, [])
    else:
        assert spill is not None
        assert Path(spill.path).read_bytes() == shown[:cap]
        assert (spill.bytes, spill.complete) == (min(cap, len(shown)), len(shown) <= cap)


def test_text_states_the_left_out_bytes_on_their_own_line() -> None:
    assert (
        Captured(head=b"a\n", tail=b"z\n", total_bytes=1004, dropped_bytes=1000).text
        == "a\n[1,000 bytes left out]\nz\n"
    )
    assert Captured(head=b"a", tail=b"z", total_bytes=3, dropped_bytes=1).text == "a\n[1 bytes left out]\nz"
    assert Captured(head=b"a", tail=b"z", total_bytes=2).text == "az"
