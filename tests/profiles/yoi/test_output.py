"""Output limits: exactly at each limit, one below, one above; and unusual output."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from nacre import Bash, Limits, ToolContext
from nacre.base.frozen import replace
from nacre.compat.yoi import BashTool, ToolOutput
from nacre.profiles.answer_format import Summary
from nacre.profiles.yoi import YOI
from tests.profiles.yoi.conftest import Execute
from tests.support.hosts import run_host

KIB = 1024
WINDOW = 256 * KIB
FULL = "[showing last 80 of {lines} lines — full output ({bytes} bytes) at {path}]\n"
TAIL = "[showing last 80 lines (tail of {bytes}-byte output) — full at {path}]\n"


def numbered_lines(count: int, end: str = "\n") -> str:
    return "\n".join(map(str, range(1, count + 1))) + end


@pytest.fixture
def data(workspace: Path) -> Path:
    """Return the file that `cat data` prints."""
    return workspace / "data"


@pytest.mark.req("Y-04")
def test_output_limits_match_the_yoi_document() -> None:
    assert YOI.view == Summary(lines=80, bytes=12 * KIB, window=WINDOW, command=80)


@pytest.mark.req("Y-04", "Y-13")
@pytest.mark.parametrize("end", ["\n", ""], ids=["newline", "no-newline"])
@pytest.mark.parametrize("lines", [1, 79, 80])
async def test_output_up_to_eighty_lines_is_inline_and_leaves_no_file(
    execute: Execute, data: Path, outputs: Path, lines: int, end: str
) -> None:
    data.write_text(numbered_lines(lines, end))
    assert await execute("cat data") == ToolOutput("$ cat data", numbered_lines(lines, end))
    assert list(outputs.iterdir()) == []


@pytest.mark.req("Y-04")
@pytest.mark.parametrize("end", ["\n", ""], ids=["newline", "no-newline"])
async def test_eighty_one_lines_are_saved_to_a_file(execute: Execute, data: Path, outputs: Path, end: str) -> None:
    data.write_text(numbered_lines(81, end))
    output = await execute("cat data")
    (file,) = outputs.iterdir()
    header = FULL.format(lines=81, bytes=len(numbered_lines(81, end)), path=file)
    assert output.content == header + numbered_lines(81, end).removeprefix("1\n")
    assert file.read_bytes() == data.read_bytes()


@pytest.mark.req("Y-04", "Y-06")
@pytest.mark.parametrize("size", [12 * KIB - 1, 12 * KIB])
async def test_output_up_to_twelve_kibibytes_is_inline(execute: Execute, data: Path, outputs: Path, size: int) -> None:
    data.write_text("é" + "x" * (size - 2))
    assert await execute("cat data") == ToolOutput("$ cat data", data.read_text())
    assert list(outputs.iterdir()) == []


@pytest.mark.req("Y-04", "Y-06")
async def test_output_over_twelve_kibibytes_is_saved_to_a_file(execute: Execute, data: Path, outputs: Path) -> None:
    data.write_text("é" + "x" * (12 * KIB - 1))
    output = await execute("cat data")
    (file,) = outputs.iterdir()
    assert output.content == FULL.format(lines=1, bytes=12 * KIB + 1, path=file) + data.read_text()


@pytest.mark.req("Y-04", "Y-05")
@pytest.mark.parametrize("size", [WINDOW - 1, WINDOW])
async def test_output_within_the_window_has_its_lines_counted(
    execute: Execute, data: Path, outputs: Path, size: int
) -> None:
    data.write_text("first\n" + "x" * (size - 6))
    output = await execute("cat data")
    (file,) = outputs.iterdir()
    assert output.content == FULL.format(lines=2, bytes=size, path=file) + data.read_text()


@pytest.mark.req("Y-04", "Y-05")
async def test_output_beyond_the_window_shows_only_its_end(execute: Execute, data: Path, outputs: Path) -> None:
    data.write_text("first\n" + "x" * (WINDOW - 5))
    output = await execute("cat data")
    (file,) = outputs.iterdir()
    assert output.content == TAIL.format(bytes=WINDOW + 1, path=file) + "irst\n" + "x" * (WINDOW - 5)
    assert file.read_bytes() == data.read_bytes()


@pytest.mark.req("Y-05")
@pytest.mark.parametrize("cut", [1, 2, 3])
@pytest.mark.parametrize("more", [0, 2 * 1024 * KIB], ids=["in-memory", "in-a-file"])
async def test_character_split_by_the_window_is_replaced_byte_by_byte(
    execute: Execute, data: Path, outputs: Path, cut: int, more: int
) -> None:
    tail = "x" * (WINDOW - 4 + cut)
    data.write_text("y" * more + "🐚" + tail)
    output = await execute("cat data")
    (file,) = outputs.iterdir()
    header = TAIL.format(bytes=more + WINDOW + cut, path=file)
    assert output.content == header + "\N{REPLACEMENT CHARACTER}" * (4 - cut) + tail
    assert file.read_bytes() == data.read_bytes()


@pytest.mark.req("Y-04")
async def test_only_newlines_end_a_line_and_empty_lines_count(execute: Execute, data: Path, outputs: Path) -> None:
    data.write_bytes(b"a\rb\r\n\x0b\x0c\xe2\x80\xa8\n" + b"\n" * 78)
    assert await execute("cat data") == ToolOutput("$ cat data", data.read_bytes().decode())
    data.write_bytes(data.read_bytes() + b"\n")
    output = await execute("cat data")
    (file,) = outputs.iterdir()
    assert output.content == FULL.format(lines=81, bytes=file.stat().st_size, path=file) + "\v\f\u2028\n" + "\n" * 79


@pytest.mark.req("Y-04")
async def test_invalid_utf8_is_replaced_in_the_text_and_kept_in_the_file(
    execute: Execute, data: Path, outputs: Path
) -> None:
    data.write_bytes(b"\xff\xfe\0\n" * 81)
    output = await execute("cat data")
    (file,) = outputs.iterdir()
    assert output.content == FULL.format(lines=81, bytes=4 * 81, path=file) + "\ufffd\ufffd\0\n" * 80
    assert file.read_bytes() == data.read_bytes()


@pytest.mark.req("Y-04")
@pytest.mark.parametrize("size", [1024 * KIB - 1, 1024 * KIB, 1024 * KIB + 1])
async def test_file_is_complete_whether_or_not_memory_held_the_output(
    execute: Execute, data: Path, outputs: Path, size: int
) -> None:
    data.write_bytes((b"0123456789abcde\n" * (size // 16 + 1))[:size])
    output = await execute("cat data")
    (file,) = outputs.iterdir()
    lines = data.read_text().split("\n")
    shown = "\n".join(lines[-81:] if lines[-1] == "" else lines[-80:])
    assert output.content == TAIL.format(bytes=size, path=file) + shown
    assert file.read_bytes() == data.read_bytes()
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.req("Y-05")
def test_hundred_megabytes_use_little_memory_and_are_all_in_the_file(tmp_path: Path) -> None:
    host = """
        import asyncio, json, os, sys
        from nacre.compat.yoi import BashTool
        from tests.support.census import memory

        async def main():
            with BashTool(sys.argv[1], sys.argv[2]) as tool:
                await tool.execute('{"command": "seq 1000"}')
                before = memory(os.getpid())[0]
                output = await tool.execute('{"command": "yes 0123456789abcde | head -c 100000000"}')
                peak = memory(os.getpid())[1]
                sizes = sorted(os.stat(os.path.join(sys.argv[2], name)).st_size for name in os.listdir(sys.argv[2]))
                return peak - before, sizes, output.content.split("\\n", 1)
        print(json.dumps(asyncio.run(main())))
    """
    growth, sizes, (header, rest) = json.loads(run_host(host, tmp_path, tmp_path / "outputs"))
    assert sizes == [3893, 100_000_000]
    assert header.startswith("[showing last 80 lines (tail of 100000000-byte output) — full at ")
    assert rest == "0123456789abcde\n" * 80
    assert growth < 32 * 1024 * KIB


@pytest.mark.req("Y-04")
async def test_partial_file_is_not_called_full(workspace: Path, outputs: Path) -> None:
    context = ToolContext(limits=Limits(spill=1_500_000))
    with BashTool(workspace, outputs, context=context) as tool:
        output = await tool.execute('{"command": "yes 0123456789abcde | head -c 2000000"}')
        (file,) = outputs.iterdir()
        header = f"[showing last 80 lines (tail of 2000000-byte output) — only the first 1500000 bytes at {file}]\n"
        assert output.content == header + "0123456789abcde\n" * 80


@pytest.mark.req("Y-04")
@pytest.mark.parametrize(
    ("command", "header"),
    [
        ("seq 81", "[showing last 80 of 81 lines — the 234 bytes could not be saved]\n2\n"),
        ("seq 200000", "[showing last 80 lines (tail of 1288895-byte output) — it could not be saved]\n199921\n"),
    ],
    ids=["in-memory", "beyond"],
)
async def test_tail_is_returned_when_the_file_cannot_be_saved(
    workspace: Path, outputs: Path, command: str, header: str
) -> None:
    """The command itself puts a file in place of the directory."""
    spoil = f"rmdir {shlex.quote(str(outputs))}; touch {shlex.quote(str(outputs))}; {command}"
    with BashTool(workspace, outputs) as tool:
        output = await tool.execute(json.dumps({"command": spoil}))
    assert output.content is not None
    assert output.content.startswith(header)


@pytest.mark.req("Y-04")
@pytest.mark.parametrize("before", ["", "y" * WINDOW], ids=["whole", "cut"])
async def test_secret_is_masked_in_the_text_and_unmasked_in_the_file(
    workspace: Path, outputs: Path, before: str
) -> None:
    secret = "hunter2-hunter2-hunter2"
    (workspace / "data").write_text(f"{before}{secret}\n" + "x\n" * 81)
    context = ToolContext(secrets=(secret,))
    with BashTool(workspace, outputs, context=context) as tool:
        output = await tool.execute('{"command": "cat data"}')
        (file,) = outputs.iterdir()
        assert file.read_text() == (workspace / "data").read_text()
        assert "hunter2" not in str(output)
        output = await tool.execute('{"command": "head -c 262170 data | tail -n 3"}')
        assert "hunter2" not in str(output)


@pytest.mark.req("Y-05")
@pytest.mark.parametrize("left", [4, 5, 12, 22])
async def test_secret_split_by_the_window_is_masked(workspace: Path, outputs: Path, left: int) -> None:
    secret = "hunter2-hunter2-hunter2"
    text = secret + "x" * (WINDOW - left)
    (workspace / "data").write_text(text)
    context = ToolContext(secrets=(secret,))
    with BashTool(workspace, outputs, context=context) as tool:
        output = await tool.execute('{"command": "cat data"}')
    assert output.content is not None
    header, _, rest = output.content.partition("\n")
    assert header.startswith(f"[showing last 80 lines (tail of {len(text)}-byte output) — ")
    assert rest == "[secret]" + "x" * (WINDOW - left)


@pytest.mark.req("Y-04")
async def test_yoi_profile_answers_the_same_without_the_tool(workspace: Path, outputs: Path) -> None:
    ctx = ToolContext(working_dir=workspace, output_dir=outputs)
    answer = await Bash("yoi").call({"command": "seq 81; exit 3"}, ctx)
    (file,) = outputs.iterdir()
    content = FULL.format(lines=81, bytes=234, path=file) + numbered_lines(81).removeprefix("1\n")
    assert answer.text == f"$ seq 81; exit 3 (exit 3)\n{content}"
    assert answer.error == ""
    assert answer.data == {
        "summary": "$ seq 81; exit 3 (exit 3)",
        "content": content,
        "exit_code": 3,
        "timed_out": False,
        "bytes": 234,
        "output_file": str(file),
        "task_id": None,
        "notes": [],
    }


@pytest.mark.req("Y-04")
async def test_output_limits_can_be_changed_in_the_view(workspace: Path, outputs: Path) -> None:
    profile = replace(YOI, view=Summary(lines=2, bytes=100, window=50, command=10))
    with BashTool(workspace, outputs, profile=profile) as tool:
        output = await tool.execute('{"command": "seq 1 3; true"}')
        (file,) = outputs.iterdir()
        assert output == ToolOutput(
            "$ seq 1 3...", f"[showing last 2 of 3 lines — full output (6 bytes) at {file}]\n2\n3\n"
        )
