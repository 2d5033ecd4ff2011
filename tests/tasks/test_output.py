"""Reading the output of a task: from any offset, over gaps, and while the log changes during the read."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.errors import InvalidRequest
from nacre.keeper.protocol.task_dir import LOG, STATUS, TASK, segment_name
from nacre.result import Exited
from nacre.tasks.store.log_reader import Output
from nacre.tasks.store.store import create
from nacre.tasks.tasks import Tasks
from tests.support.fake_keeper import FakeKeeper, ended_task, facts, status_file, write_file
from tests.support.waiting import HANG_TIMEOUT_S, until
from tests.tasks.conftest import Serve


def parts(output: Output) -> tuple[bytes, int, int, int, int, bool]:
    return output.data, output.start, output.cursor, output.dropped, output.skipped, output.more


def read_all(tasks: Tasks, id: str, limit: int) -> tuple[bytes, int]:
    """Return all output that is kept, and the number of bytes that are not."""
    data, place, gone = b"", 0, 0
    while True:
        output = tasks.output(id, since=place, limit=limit)
        assert output.cursor > place or not output.more
        data += output.data
        gone += output.dropped
        place = output.cursor
        if not output.more:
            return data, gone


@pytest.mark.req("M-06")
def test_output_is_read_from_a_cursor(tasks: Tasks, serve: Serve) -> None:
    keeper = serve()
    assert parts(tasks.output(keeper.id)) == (b"", 0, 0, 0, 0, False)
    keeper.print_output(b"one\n")
    assert parts(tasks.output(keeper.id)) == (b"one\n", 0, 4, 0, 0, False)
    keeper.print_output(b"two\n")
    assert parts(tasks.output(keeper.id, since=4)) == (b"two\n", 4, 8, 0, 0, False)
    keeper.end(Exited(0))
    keeper.die()
    assert parts(tasks.output(keeper.id, since=8)) == (b"", 8, 8, 0, 0, False)
    assert tasks.output(keeper.id).text == "one\ntwo\n"
    assert tasks.output(keeper.id).task.exit_code == 0


@pytest.mark.parametrize("alive", [True, False])
def test_negative_since_counts_from_the_end(tasks: Tasks, serve: Serve, alive: bool) -> None:
    keeper = serve()
    keeper.print_output("grün".encode())
    if not alive:
        keeper.end(Exited(0))
    assert parts(tasks.output(keeper.id, since=-1)) == (b"n", 4, 5, 0, 0, False)
    assert tasks.output(keeper.id, since=-2).text == "n"  # not half a character
    assert tasks.output(keeper.id, since=-3).text == "ün"
    assert tasks.output(keeper.id, since=-100).text == "grün"
    with pytest.raises(InvalidRequest, match="only 5 bytes") as refusal:
        tasks.output(keeper.id, since=6)
    assert (refusal.value.code, refusal.value.field) == ("bad_cursor", "since")


@pytest.mark.parametrize(
    ("lines", "since", "shown", "skipped"),
    [
        (0, 0, "", 9),
        (1, 0, "c", 8),
        (2, 0, "bb\nc", 5),
        (3, 0, "aaaa\nbb\nc", 0),
        (9, 0, "aaaa\nbb\nc", 0),
        (2, 6, "b\nc", 0),
    ],
)
def test_lines_option_returns_the_last_lines(
    tasks: Tasks, store: Path, lines: int, since: int, shown: str, skipped: int
) -> None:
    id = ended_task(store, Exited(0), b"aaaa\nbb\nc")
    output = tasks.output(id, lines=lines, since=since)
    assert (output.text, output.skipped, output.dropped, output.cursor, output.more) == (shown, skipped, 0, 9, False)


def test_newline_at_the_end_starts_no_further_line(tasks: Tasks, store: Path) -> None:
    id = ended_task(store, Exited(0), b"a\nb\n\n")
    assert [tasks.output(id, lines=n).data for n in (1, 2, 3, 4)] == [b"\n", b"b\n\n", b"a\nb\n\n", b"a\nb\n\n"]


def test_last_lines_of_a_64_mb_log_are_found(tasks: Tasks, store: Path) -> None:
    name, directory = create(str(store), facts())
    size = 64 * 1024 * 1024
    with Path(directory, LOG).open("r+b") as file:
        file.truncate(size)
        file.seek(size - 10)
        file.write(b"\nab\ncd\nefg")
    write_file(directory, STATUS, status_file(Exited(0), log={"bytes": size, "pieces": [[0, size, 0]]}))
    assert parts(tasks.output(name, lines=2)) == (b"cd\nefg", size - 6, size, 0, size - 6, False)
    whole = tasks.output(name, lines=5, limit=1000)
    assert (len(whole.data), whole.skipped, whole.cursor) == (1000, size - 1000, size)
    assert len(tasks.output(name).data) == 1024 * 1024
    assert tasks.output(name).more


@pytest.mark.parametrize("options", [{"since": 1.5}, {"since": True}, {"lines": -1}, {"lines": "2"}, {"limit": -1}])
def test_invalid_numbers_are_refused_when_output_is_read(tasks: Tasks, store: Path, options: Any) -> None:
    id = ended_task(store, Exited(0), b"text")
    with pytest.raises(InvalidRequest):
        tasks.output(id, **options)


def test_incomplete_character_is_held_back_until_its_rest_arrives(tasks: Tasks, serve: Serve) -> None:
    keeper = serve()
    keeper.print_output(b"a\xe2\x82")
    assert parts(tasks.output(keeper.id)) == (b"a", 0, 1, 0, 0, False)
    assert parts(tasks.output(keeper.id, since=1)) == (b"", 1, 1, 0, 0, False)
    assert parts(tasks.output(keeper.id, lines=1)) == (b"a", 0, 1, 0, 0, False)
    keeper.print_output(b"\xac\xe2")
    assert parts(tasks.output(keeper.id, since=1)) == ("€".encode(), 1, 4, 0, 0, False)
    assert parts(tasks.output(keeper.id, since=0, limit=2)) == (b"a\xe2\x82\xac", 0, 4, 0, 0, True)
    keeper.end(Exited(0))
    assert parts(tasks.output(keeper.id, since=4)) == (b"\xe2", 4, 5, 0, 0, False)


def test_character_whose_rest_was_dropped_is_returned_incomplete(tasks: Tasks, serve: Serve) -> None:
    keeper = serve()
    keeper.print_output(b"a\xe2\x82")
    keeper.lose_output(1)
    assert parts(tasks.output(keeper.id)) == (b"a", 0, 1, 0, 0, True)
    assert parts(tasks.output(keeper.id, since=1)) == (b"\xe2\x82", 1, 3, 0, 0, True)
    assert parts(tasks.output(keeper.id, since=3)) == (b"", 4, 4, 1, 0, False)


def test_output_that_was_not_kept_is_counted_as_dropped(tasks: Tasks, serve: Serve) -> None:
    keeper = serve()
    keeper.lose_output(10)
    assert parts(tasks.output(keeper.id)) == (b"", 10, 10, 10, 0, False)
    keeper.print_segment(b"abc")
    keeper.lose_output(5)
    keeper.print_segment(b"def")
    assert parts(tasks.output(keeper.id)) == (b"abc", 10, 13, 10, 0, True)
    assert parts(tasks.output(keeper.id, since=13)) == (b"def", 18, 21, 5, 0, False)
    assert parts(tasks.output(keeper.id, lines=5)) == (b"def", 18, 21, 15, 3, False)
    task = tasks.get(keeper.id)
    assert (task.bytes, task.dropped) == (21, 15)
    with pytest.raises(InvalidRequest):
        tasks.output(keeper.id, since=22)
    keeper.end(Exited(0))
    assert parts(tasks.output(keeper.id)) == (b"abc", 10, 13, 10, 0, True)
    assert read_all(tasks, keeper.id, 100) == (b"abcdef", 15)


def test_log_segments_are_read_after_the_head(tasks: Tasks, serve: Serve) -> None:
    keeper = serve(cap=8)
    keeper.print_output(b"0123456")
    names = [keeper.print_segment(data) for data in (b"78", b"9a")]
    keeper.append_note(b"[nacre: it goes on elsewhere]\n")
    assert read_all(tasks, keeper.id, 100) == (b"0123456789a", 0)
    keeper.drop_segment(names[0])
    assert read_all(tasks, keeper.id, 100) == (b"01234569a", 2)
    assert tasks.get(keeper.id).dropped == 2
    keeper.end(Exited(0))
    assert b"nacre" in Path(keeper.directory, LOG).read_bytes()
    assert read_all(tasks, keeper.id, 100) == (b"01234569a", 2)
    assert tasks.output(keeper.id, lines=1).data == b"9a"


def test_log_segments_that_were_not_joined_are_still_read(tasks: Tasks, serve: Serve) -> None:
    keeper = serve(cap=8)
    keeper.print_output(b"0123")
    keeper.print_segment(b"4567")
    keeper.end(Exited(0), join=False)
    assert read_all(tasks, keeper.id, 100) == (b"01234567", 0)


def test_overlapping_log_segments_are_read_once(tasks: Tasks, serve: Serve) -> None:
    keeper = serve(cap=8)
    keeper.print_output(b"0123")
    keeper.print_segment(b"4567")
    keeper.end(Exited(0))
    write_file(keeper.directory, segment_name(2), b"23456")
    for limit in (1, 4, 5, 100):
        assert read_all(tasks, keeper.id, limit) == (b"01234567", 0)


@pytest.mark.parametrize("lines", [None, 3])
def test_completion_line_is_never_part_of_the_output(tasks: Tasks, serve: Serve, lines: int | None) -> None:
    keeper = serve()
    keeper.print_output(b"text\n")
    keeper.append_note()
    threading.Timer(0.05, keeper.end, [Exited(0)]).start()  # the note is there, status.json is not
    output = tasks.output(keeper.id, lines=lines)
    assert (output.data, output.task.state) == (b"text\n", "ended")


async def test_output_is_returned_when_the_keeper_does_not_answer(tasks: Tasks, serve: Serve) -> None:
    keeper = serve()
    keeper.print_output(b"text\n")
    keeper.silent = True
    assert tasks.output(keeper.id).data == b"text\n"


def test_a_log_that_is_joined_while_it_is_read_loses_nothing(tasks: Tasks, serve: Serve) -> None:
    """Repeated: segments vanish at the moment they are read, into a log that status.json describes."""
    expected = b"".join(b"%06d\n" % n for n in range(400))
    for _ in range(15):
        keeper = serve(cap=14)
        for n in range(400):
            keeper.print_output(b"%06d\n" % n)
        ender = threading.Thread(target=keeper.end, args=[Exited(0)])
        ender.start()
        data, gone = read_all(tasks, keeper.id, 700)
        ender.join()
        keeper.die()
        assert (data, gone) == (expected, 0)


def test_segments_removed_while_they_are_read_are_counted_as_dropped(tasks: Tasks, serve: Serve) -> None:
    keeper = serve(cap=14)
    for n in range(300):
        keeper.print_output(b"%06d\n" % n)
    names = sorted(path.name for path in Path(keeper.directory).glob(f"{LOG}.*"))

    def drop() -> None:
        for name in names[:-1]:
            keeper.drop_segment(name)

    remover = threading.Thread(target=drop)
    remover.start()
    data, gone = read_all(tasks, keeper.id, 49)  # whole lines
    remover.join()
    assert len(data) + gone == 300 * 7
    assert data.endswith(b"000299\n")
    assert {len(line) for line in data.split()} == {6}


CAP = 20
STEPS = st.lists(
    st.tuples(st.sampled_from(["print", "print", "print", "lose", "segment"]), st.integers(1, 9)), max_size=12
)


@settings(deadline=None, max_examples=60)
@given(steps=STEPS, limit=st.integers(1, 40), end=st.booleans())
def test_all_kept_output_can_be_read_exactly_once(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]], limit: int, end: bool
) -> None:
    tasks = Tasks(tmp_path_factory.mktemp("tasks"))
    letters = "aä€😀\n" * 100
    with FakeKeeper(tasks.directory, cap=CAP) as keeper:
        for number, (step, count) in enumerate(steps):
            text = letters[keeper.seen % 7 :][:count].encode()
            if step == "print" and set(steps[:number]) <= {("print", n) for n in range(10)}:
                keeper.print_output(text)
            elif step == "lose":
                keeper.lose_output(count)
            else:
                keeper.print_segment(text)
        kept = b"".join(data for _, data in keeper.kept)
        if end:
            keeper.end(Exited(0))
        data, gone = read_all(tasks, keeper.id, limit)
        assert (data, gone) == (kept, keeper.seen - len(kept))
        if kept:
            start, last = keeper.kept[-1]
            tail = tasks.output(keeper.id, lines=1)
            assert kept.endswith(tail.data)
            assert tail.start + len(tail.data) <= start + len(last)
            assert tail.start == tail.dropped + tail.skipped


# following


async def collect(tasks: Tasks, id: str, into: list[Output], since: int = 0) -> None:
    async for output in tasks.follow(id, since=since):
        into.append(output)  # noqa: PERF401  # immediately visible to the test


async def test_follow_yields_output_as_it_is_printed_and_ends_with_the_task(tasks: Tasks, serve: Serve) -> None:
    keeper = serve()
    keeper.print_output(b"one\n")
    seen: list[Output] = []
    following = asyncio.ensure_future(collect(tasks, keeper.id, seen))
    for text in (b"two\n", b"thr\xc3"):
        await until(lambda: keeper.watchers, "a reader that waits")
        keeper.print_output(text)
        await until(lambda text=text: b"".join(o.data for o in seen).endswith(text.rstrip(b"\xc3")), "the text")  # type: ignore[misc]
    await until(lambda: keeper.watchers, "a reader that waits")
    keeper.end(Exited(7))
    await following
    assert b"".join(output.data for output in seen) == b"one\ntwo\nthr\xc3"
    assert [output.task.state for output in seen[:-1]] == ["running"] * (len(seen) - 1)
    assert (seen[-1].task.exit_code, seen[-1].more) == (7, False)
    assert sum(line == b"watch -1" for line in keeper.asked) < 20  # the keeper was not polled


async def test_follow_of_an_ended_task_yields_all_its_output(tasks: Tasks, store: Path) -> None:
    text = os.urandom(3 * 1024 * 1024 + 5)
    id = ended_task(store, Exited(0), text)
    seen: list[Output] = []
    await collect(tasks, id, seen)
    assert b"".join(output.data for output in seen) == text
    assert [output.more for output in seen] == [True] * (len(seen) - 1) + [False]
    seen.clear()
    await collect(tasks, id, seen, since=len(text))
    assert [parts(output)[0] for output in seen] == [b""]


async def test_follow_of_a_flood_loses_nothing(tasks: Tasks, serve: Serve) -> None:
    keeper = serve(cap=2 * 1024 * 1024)
    lines = [b"%07d\n" % n * 500 for n in range(500)]

    def flood() -> None:
        for line in lines:
            keeper.print_output(line)
        keeper.end(Exited(0))

    seen: list[Output] = []
    flooding = asyncio.ensure_future(asyncio.to_thread(flood))
    await collect(tasks, keeper.id, seen)
    await flooding
    assert b"".join(output.data for output in seen) == b"".join(lines)
    assert sum(output.dropped for output in seen) == 0


async def test_follow_ends_when_the_keeper_is_killed_or_the_task_is_removed(tasks: Tasks, serve: Serve) -> None:
    for end in ("dies", "vanishes"):
        keeper = serve()
        keeper.print_output(b"half")
        seen: list[Output] = []
        following = asyncio.ensure_future(collect(tasks, keeper.id, seen))
        await until(lambda keeper=keeper: keeper.watchers, "a reader that waits")  # type: ignore[misc]
        if end == "vanishes":
            for path in Path(keeper.directory).iterdir():
                path.unlink()
            Path(keeper.directory).rmdir()
        keeper.die()
        await asyncio.wait_for(following, HANG_TIMEOUT_S)
        assert b"".join(output.data for output in seen) == b"half"
        assert seen[-1].task.state == ("lost" if end == "dies" else "broken")


async def test_follow_with_a_bad_cursor_or_of_a_broken_task_is_refused(tasks: Tasks, store: Path) -> None:
    id = ended_task(store, Exited(0), b"text")
    with pytest.raises(InvalidRequest, match="only 4 bytes"):
        await collect(tasks, id, [], since=5)
    write_file(store / id, TASK, b"{}")
    with pytest.raises(InvalidRequest, match="Cannot read"):
        await collect(tasks, id, [])
