"""A flood of output costs neither memory nor disk, and is counted to the byte."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from nacre import Bash, Limits, Request, Result, ToolContext
from nacre.result import Captured, Exited, Spill
from tests.support.hosts import run_host
from tests.support.plain_bash import captured_text
from tests.support.waiting import wait_until

MIB = 1024 * 1024

FLOOD = """
    import json, os, sys
    import nacre
    from tests.support.census import memory

    keeper = int(nacre.run_sync("echo $PPID; echo >&2").stdout)
    before = [memory(pid)[0] for pid in (os.getpid(), keeper)]
    result = nacre.run_sync(sys.argv[1], timeout=300)
    peak = [memory(pid)[1] for pid in (os.getpid(), keeper)]
    directory = os.path.dirname(result.spill.path)
    files = [os.stat(os.path.join(directory, name)) for name in os.listdir(directory)]
    print(json.dumps({
        "growth": sum(peak) - sum(before),
        "disk": sum(file.st_blocks * 512 for file in files),
        "summary": result.summary,
        "spill": [result.spill.bytes, result.spill.complete],
        "modes": [os.stat(directory).st_mode & 0o777, *(file.st_mode & 0o777 for file in files)],
        "counts": [
            [part.total_bytes, part.dropped_bytes, len(part.head), len(part.tail)]
            for part in (result.out, result.both)
        ],
        "directory": directory,
    }))
"""


@pytest.mark.slow
def test_four_gigabytes_of_output_use_little_memory_and_bounded_disk() -> None:
    seen = json.loads(run_host(FLOOD, "head -c 4G /dev/zero"))
    total, half = 4 * 1024 * MIB, MIB // 2
    assert seen == {
        "growth": seen["growth"],
        "disk": seen["disk"],
        "summary": "exit 0",
        "spill": [16 * MIB, False],
        "modes": [0o700, 0o600],
        "counts": [[total, total - MIB, half, half]] * 2,
        "directory": seen["directory"],
    }
    assert seen["growth"] < 32 * MIB
    assert seen["disk"] <= 65 * MIB
    wait_until(lambda: not os.path.exists(seen["directory"]), "the removal of the private directory")


def test_many_small_writes_use_little_memory() -> None:
    text = "i=0; while ((i++ < 100000)); do echo $i; echo $i >&2; done"
    seen = json.loads(run_host(FLOOD, text))
    assert seen["growth"] < 32 * MIB
    assert seen["counts"][1][0] == 2 * sum(len(f"{i}\n") for i in range(1, 100_001))


async def test_head_and_tail_of_a_flood_are_its_beginning_and_its_end(bash: Bash) -> None:
    whole = b"".join(b"%d\n" % i for i in range(1, 500_001))
    limit = 1000
    result = await bash.run("seq 1 500000", ToolContext(limits=Limits(output=limit, spill=0)))
    missing = len(whole) - limit
    expected = Captured(
        head=whole[:500], tail=whole[-500:], total_bytes=len(whole), dropped_bytes=missing, dropped_chars=missing
    )
    assert (result.out, result.both, result.err) == (expected, expected, captured_text())


async def test_each_stream_counts_its_bytes_separately(bash: Bash) -> None:
    text = "head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2"
    result = await bash.run(text, ToolContext(limits=Limits(output=100_000, spill=0)))
    counts = [(part.total_bytes, part.dropped_bytes) for part in (result.out, result.err, result.both)]
    assert counts == [(3_000_000, 2_900_000), (2_000_000, 1_900_000), (5_000_000, 4_900_000)]


@pytest.mark.parametrize("size", [999, 1000, 1001])
async def test_spill_file_is_made_only_for_output_over_the_memory_limit(bash: Bash, tmp_path: Path, size: int) -> None:
    place = tmp_path / "outputs"
    result = await bash.run(f"head -c {size} /dev/zero", ToolContext(limits=Limits(output=1000), output_dir=place))
    if size <= 1000:
        assert (result.spill, place.exists()) == (None, False)
        assert result.out == Captured(head=b"\0" * 500, tail=b"\0" * (size - 500), total_bytes=size)
    else:
        assert result.spill is not None
        assert result.spill == Spill(result.spill.path, size, complete=True)
        assert [str(path) for path in place.iterdir()] == [result.spill.path]


@pytest.mark.req("M-14")
async def test_a_spill_file_is_private_complete_and_named_after_the_conversation(bash: Bash, tmp_path: Path) -> None:
    place = tmp_path / "new" / "outputs"
    ctx = ToolContext(limits=Limits(output=1000), output_dir=place, conversation_id="chat/../7")
    result = await bash.run("seq 1 5000; echo end >&2", ctx)
    assert result.spill is not None
    path = Path(result.spill.path)
    assert result.spill == Spill(str(path), result.total_bytes, complete=True)
    assert sorted(path.read_text().split()) == sorted([*map(str, range(1, 5001)), "end"])
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(place.stat().st_mode)) == (0o600, 0o700)
    assert path.parent == place
    assert path.name.startswith("bash-chat_.._7-")


async def test_a_spill_file_stops_at_its_cap_and_holds_the_beginning(bash: Bash, tmp_path: Path) -> None:
    ctx = ToolContext(limits=Limits(output=1000, spill=5000), output_dir=tmp_path)
    result = await bash.run("seq 1 100000", ctx)
    assert result.spill is not None
    assert result.spill == Spill(result.spill.path, 5000, complete=False)
    whole = b"".join(b"%d\n" % i for i in range(1, 100_001))
    assert Path(result.spill.path).read_bytes() == whole[:5000]
    assert (result.outcome, result.total_bytes) == (Exited(0), len(whole))


async def test_spill_limit_of_zero_writes_no_spill_file(bash: Bash, tmp_path: Path) -> None:
    ctx = ToolContext(limits=Limits(output=1000, spill=0), output_dir=tmp_path)
    result = await bash.run("seq 1 100000", ctx)
    assert (result.spill, list(tmp_path.iterdir())) == (None, [])


async def test_conversation_id_of_200_four_byte_characters_makes_a_spill_file(bash: Bash, tmp_path: Path) -> None:
    ctx = ToolContext(limits=Limits(output=10), output_dir=tmp_path, conversation_id="\U00020000" * 200)
    result = await bash.run("seq 1 100", ctx)
    assert result.spill is not None
    assert Path(result.spill.path).stat().st_size == result.total_bytes


async def test_spill_directory_that_cannot_be_made_does_not_disturb_the_run(bash: Bash) -> None:
    ctx = ToolContext(limits=Limits(output=20), output_dir="/proc/nacre-outputs")
    result = await bash.run("seq 1 1000", ctx)
    assert (result.outcome, result.total_bytes, result.spill) == (Exited(0), 3893, None)
    (note,) = result.notes
    assert note.startswith("The output left out could not be written to /proc/nacre-outputs/")


async def test_output_limit_of_zero_keeps_nothing_in_memory_and_spills_everything(bash: Bash, tmp_path: Path) -> None:
    ctx = ToolContext(limits=Limits(output=0), output_dir=tmp_path)
    result = await bash.run(Request("seq 1 1000; echo err >&2"), ctx)
    assert (result.outcome, result.out, result.err) == (
        Exited(0),
        Captured(total_bytes=3893, dropped_bytes=3893, dropped_chars=3893),
        Captured(total_bytes=4, dropped_bytes=4, dropped_chars=4),
    )
    assert result.spill is not None
    assert result.spill == Spill(result.spill.path, 3897, complete=True)


async def test_flood_with_merged_streams_is_counted_as_one_stream(bash: Bash) -> None:
    text = "head -c 300000 /dev/zero; head -c 200000 /dev/zero >&2"
    result = await bash.run(Request(text, merge=True), ToolContext(limits=Limits(output=1000, spill=0)))
    end = b"\0" * 500
    expected = Captured(head=end, tail=end, total_bytes=500_000, dropped_bytes=499_000, dropped_chars=499_000)
    assert result == Result(
        command=text,
        cwd=os.getcwd(),
        outcome=Exited(0),
        out=expected,
        both=expected,
        duration=result.duration,
        pid=result.pid,
    )
