"""The text that a model reads of a long output, and the file that has the rest."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from nacre import Bash, Limits, Request, ToolContext
from nacre.output.shape import ShapeOptions
from nacre.result import Exited, Spill
from nacre.views.model.text import ModelOptions, SpillInfo
from nacre.views.model.with_spill import for_model, inspect_spill
from tests.views.results import result

BOOM = "seq 1 50000; echo BOOM >&2; exit 3"


@pytest.mark.parametrize("held", [None, 20_000])
async def test_truncated_output_names_the_command_that_reads_the_rest(
    bash: Bash, tmp_path: Path, held: int | None
) -> None:
    ctx = ToolContext(limits=Limits(output=held), output_dir=tmp_path)
    what = await bash.run(Request(BOOM, cwd=tmp_path), ctx)
    text = for_model(what, directory=lambda: str(tmp_path))
    lines = text.split("\n")
    assert len(text) <= 30_000
    assert lines[:2] == ["[nacre: exit 3]", "1"]
    assert {"50000", "BOOM"} <= set(lines)
    marker = next(line for line in lines if line.startswith("[…"))
    count, first, last, path = re.fullmatch(
        r"\[… ([\d,]+) lines, [\d,]+ (?:bytes|characters) left out; to read it: sed -n '(\d+),(\d+)p' (.+)\]", marker
    ).groups()  # type: ignore[union-attr]
    shown = [line for line in lines if line.isdigit()]
    assert int(count.replace(",", "")) == int(last) - int(first) + 1 == 50_000 - len(shown)
    assert Path(*shlex.split(path)).read_text().count("\n") == 50_001


@pytest.mark.parametrize("held", [None, 20_000])
async def test_error_lines_of_omitted_output_are_shown_with_line_numbers(
    bash: Bash, tmp_path: Path, held: int | None
) -> None:
    command = "seq 1 20000; echo 'Error: no such thing'; seq 20002 40000"
    what = await bash.run(Request(command, cwd=tmp_path), ToolContext(limits=Limits(output=held), output_dir=tmp_path))
    text = for_model(what, directory=lambda: str(tmp_path))
    assert "[… 20001: Error: no such thing]" in text.split("\n")


async def test_omitted_error_lines_are_shown_up_to_the_errors_option(bash: Bash, tmp_path: Path) -> None:
    command = "seq 1 20000; for i in 1 2 3 4 5 6 7 8; do echo Error: $i; done; seq 1 20000"
    what = await bash.run(
        Request(command, cwd=tmp_path), ToolContext(limits=Limits(output=20_000), output_dir=tmp_path)
    )
    lines = for_model(what, ModelOptions(output=ShapeOptions(errors=20))).split("\n")
    assert "[… 8 of them tell of errors:]" in lines
    assert [f"[… {20_000 + n}: Error: {n}]" for n in range(1, 9)] == [line for line in lines if "Error: " in line]


@pytest.mark.parametrize("held", [None, 20_000])
async def test_separate_streams_name_the_file_with_both(bash: Bash, tmp_path: Path, held: int | None) -> None:
    ctx = ToolContext(limits=Limits(output=held), output_dir=tmp_path)
    what = await bash.run(Request("seq 1 20000; echo 'Error: mid'; seq 1 20000; echo e >&2", cwd=tmp_path), ctx)
    lines = for_model(what, ModelOptions(separate_streams=True), directory=lambda: str(tmp_path)).split("\n")
    (path,) = (
        line.partition(", is in ")[2].removesuffix("]") for line in lines if "in order of arrival, is in " in line
    )
    assert Path(*shlex.split(path)).read_text().count("\n") == 40_002
    assert [line for line in lines if "Error: mid" in line] == (
        ["[… 20001: Error: mid]"] if held is None else ["[nacre: its line 20001 has an error: Error: mid]"]
    )
    small = await bash.run(Request("echo a; echo e >&2", cwd=tmp_path), ctx)
    assert for_model(small, ModelOptions(separate_streams=True)) == "a\n[nacre: stderr]\ne"


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("for i in $(seq 1 100); do echo $((3 * i)): return None; done", "150: return None"),
        ('for i in $(seq 1 12); do echo "/dev/sd$i  9G  $((i==6?100:20))% /mnt/$i"; done', "/dev/sd6  9G  100% /mnt/6"),
        ("for i in $(seq 10 29); do echo 10:00:$i worker $i exited with code $((i==16?137:0)); done", "code 137"),
        ("for i in $(seq 10 49); do echo 10:00:$i GET /users/$i $((i==26?500:200)) 3ms; done", "/users/26 500 3ms"),
        ("for i in $(seq 1 60); do echo case $i: expected 5 got $((i==30?7:5)); done", "case 30: expected 5 got 7"),
    ],
)
async def test_line_that_differs_in_one_value_is_not_folded(bash: Bash, command: str, wanted: str) -> None:
    assert wanted in for_model(await bash.run(command))


async def test_folded_lines_are_saved_to_a_file_that_is_named(bash: Bash, tmp_path: Path) -> None:
    what = await bash.run(
        "for i in $(seq 1 100); do echo copied item $i of the lot; done; for i in 1 2 3; do echo $i; done"
    )
    text = for_model(what, directory=lambda: str(tmp_path))
    (file,) = tmp_path.iterdir()
    assert text.split("\n") == [
        *("copied item 1 of the lot", "[… 98 similar lines]", "copied item 100 of the lot", "1", "2", "3"),
        f"[… the 98 similar lines are in {shlex.quote(str(file))}]",
    ]
    assert file.read_text() == what.output
    same = await bash.run("for i in $(seq 1 100); do echo copied the same item; done")
    assert "similar" not in for_model(same, directory=lambda: str(tmp_path))
    assert len(list(tmp_path.iterdir())) == 1


async def test_deleted_spill_file_is_not_named(bash: Bash, tmp_path: Path) -> None:
    ctx = ToolContext(limits=Limits(output=20_000), output_dir=tmp_path)
    what = await bash.run(Request(BOOM, cwd=tmp_path), ctx)
    assert what.spill is not None
    os.unlink(what.spill.path)
    assert inspect_spill(what) == SpillInfo()
    assert what.spill.path not in for_model(what)


async def test_incomplete_spill_file_is_described_with_its_size(bash: Bash, tmp_path: Path) -> None:
    ctx = ToolContext(limits=Limits(output=20_000, spill=50_000), output_dir=tmp_path)
    what = await bash.run(Request(BOOM, cwd=tmp_path), ctx)
    text = for_model(what)
    assert "the first 50,000 bytes of it all are kept" in text
    ctx = ToolContext(limits=Limits(output=20_000), output_dir=tmp_path)
    what = await bash.run(Request(BOOM, cwd=tmp_path), ctx)
    assert what.spill is not None
    os.truncate(what.spill.path, 30_000)
    assert "the first 30,000 bytes of it all are kept" in for_model(what)


def test_spill_path_that_is_not_a_regular_file_is_ignored(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/etc/passwd")
    for path in (tmp_path / "pipe", tmp_path / "link", tmp_path, Path("/dev/zero")):
        assert inspect_spill(result(Exited(0), spill=Spill(str(path), 5, complete=True))) == SpillInfo()


def test_unwritable_output_directory_is_not_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    text = for_model(result(Exited(0), "x\n" * 3 + "y" * 50_000), directory=lambda: str(tmp_path / "file" / "none"))
    assert "left out]" in text or "of line 4]" in text
    assert str(tmp_path) not in text


async def test_spill_file_is_named_after_its_conversation_in_a_created_directory(bash: Bash, tmp_path: Path) -> None:
    place = tmp_path / "not" / "there" / "yet"
    answer = await bash.call({"command": BOOM}, ToolContext(output_dir=place, conversation_id="talk"))
    (file,) = place.iterdir()
    assert re.fullmatch(r"bash-talk-[0-9a-f]{8}\.log", file.name)
    assert str(file) in answer.text
