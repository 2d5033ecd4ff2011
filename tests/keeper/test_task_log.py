"""A task's log: exact below its cap, head and tail beyond it, never larger, whatever is written."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.keeper.protocol import task_log as logs
from nacre.keeper.protocol.task_dir import LOG, head_bytes, segment_bytes, segment_offset
from nacre.keeper.protocol.task_log import TaskLog
from tests.support.disks import small_disk


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    (tmp_path / LOG).touch()
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


def stream(length: int) -> bytes:
    """Return output in which each part differs from all others."""
    return b"".join(b"%09d\n" % number for number in range(length // 10 + 1))[:length]


def on_disk(path: Path) -> dict[int, bytes]:
    """Return the kept data by its offset in the stream."""
    return {
        start: (path / name).read_bytes() for name in os.listdir(path) if (start := segment_offset(name)) is not None
    }


def size(path: Path) -> int:
    return sum(len(data) for data in on_disk(path).values())


def test_log_below_its_cap_is_exact_and_ends_as_one_file(folder: int, tmp_path: Path) -> None:
    log = TaskLog(folder, 16_000)
    data = stream(15_990)
    for at in range(0, len(data), 77):
        log.write(data[at : at + 77])
    assert log.finish("[the end]") == [
        (0, 8000, 0),
        *[(at, min(1000, 15_990 - at), at) for at in range(8000, 15_990, 1000)],
    ]
    assert (tmp_path / LOG).read_bytes() == data + b"[the end]\n"
    assert os.listdir(tmp_path) == [LOG]


@pytest.mark.parametrize("seed", range(20))
def test_log_keeps_data_at_the_stated_offsets_within_its_cap(seed: int, folder: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    cap = dice.choice([160, 1600, 16_000, 64_000])
    data = stream(dice.randrange(cap * 6))
    log = TaskLog(folder, cap)
    at = skipped = 0
    while at < len(data):
        step = dice.choice([1, 10, 333, cap // 16, cap])
        if dice.random() < 0.02:
            log.skip(len(data[at : at + step]))
            skipped += len(data[at : at + step])
        else:
            log.write(data[at : at + step])
        at += step
        notes = len(logs._NOTE) + len(LOG)
        assert size(tmp_path) <= cap + notes
        for start, part in on_disk(tmp_path).items():
            part = part[: head_bytes(cap)] if start == 0 else part
            assert data[start : start + len(part)] == part
    assert log.total_bytes == len(data)
    pieces = log.finish("[the end]")
    whole = (tmp_path / LOG).read_bytes()
    kept = b""
    for start, length, place in pieces:
        assert whole[place : place + length] == data[start : start + length]
        kept += whole[place : place + length]
    assert len(kept) + log.dropped_bytes == len(data)
    assert whole.endswith(b"[the end]\n")
    assert len(kept) >= min(len(data), cap - 3 * segment_bytes(cap)) - skipped
    assert (b"left out" in whole) == (log.dropped_bytes > 0)


def test_missing_bytes_are_counted_at_their_gap(folder: int, tmp_path: Path) -> None:
    log = TaskLog(folder, 1600)
    log.write(stream(4000))
    log.finish("[the end]")
    whole = (tmp_path / LOG).read_bytes()
    head, _, rest = whole.partition(b"[nacre: ")
    count, _, tail = rest.partition(b" bytes left out]\n")
    assert head == stream(800)
    assert len(head) + int(count.replace(b",", b"")) + len(tail) - len(b"[the end]\n") == 4000
    assert tail == stream(4000)[-len(tail) + len(b"[the end]\n") :] + b"[the end]\n"


def test_unfinished_log_says_that_the_rest_is_in_segment_files(folder: int, tmp_path: Path) -> None:
    log = TaskLog(folder, 1600)
    log.write(stream(1000))
    assert b"what follows is in output.log.*" in (tmp_path / LOG).read_bytes()[800:]
    log.finish("[the end]")
    assert (tmp_path / LOG).read_bytes() == stream(1000) + b"[the end]\n"


def test_log_continues_where_another_process_stopped(folder: int, tmp_path: Path) -> None:
    data = stream(1500)
    for start, stop in ((0, 300), (300, 900), (900, 1500)):
        log = TaskLog(folder, 1600, start)
        log.write(data[start:stop])
        log.close()
    TaskLog(folder, 1600, 1500).finish("[the end]")
    assert (tmp_path / LOG).read_bytes() == data + b"[the end]\n"


def test_completion_line_starts_on_a_new_line(folder: int, tmp_path: Path) -> None:
    log = TaskLog(folder, 1600)
    log.write(b"no newline")
    log.finish("[the end]")
    assert (tmp_path / LOG).read_bytes() == b"no newline\n[the end]\n"


def test_full_disk_leaves_a_gap_and_later_output_is_kept(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1M") as disk:
        (disk / LOG).touch()
        (disk / "ballast").write_bytes(bytes(700 * 1024))
        fd = os.open(disk, os.O_RDONLY | os.O_DIRECTORY)
        log = TaskLog(fd, 512 * 1024)
        data = stream(600 * 1024)
        for at in range(0, 300 * 1024, 4096):
            log.write(data[at : at + 4096])
        assert log.problem == "No space left on device"
        assert log.total_bytes == 300 * 1024
        assert (disk / LOG).stat().st_size < 300 * 1024
        (disk / "ballast").unlink()
        log._retry_at = 0.0
        log.write(data[300 * 1024 : 310 * 1024])
        pieces = log.finish("[the end]")
        os.close(fd)
        whole = (disk / LOG).read_bytes()
        assert log.dropped_bytes == 310 * 1024 - sum(length for _, length, _ in pieces) > 0
        assert pieces[-1][:2] == (300 * 1024, 10 * 1024)
        assert b"bytes left out (No space left on device)]" in whole
        for start, length, place in pieces:
            assert whole[place : place + length] == data[start : start + length]
