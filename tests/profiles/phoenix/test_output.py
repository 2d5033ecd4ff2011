"""Output in a single stream; beyond 128 KB its first and last 4 KB; exit codes, and system errors, which have none."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from nacre import Bash, Limits, ToolContext
from nacre.profiles.answer_format import Combined
from nacre.profiles.phoenix import PHOENIX
from nacre.result import Captured, Lost, NotStarted, Outcome, Result
from nacre.views.answers import answer
from tests.profiles.phoenix.conftest import Ask
from tests.support.hosts import run_host
from tests.support.quoting import quote

KB = 1024
OVER = 128 * KB


def truncation_note(missing: int, seen: int, path: Path, kept: str = "all of it is") -> str:
    return f"[nacre: output truncated: {missing:,} of {seen:,} bytes left out here; {kept} in {path}]\n"


@pytest.mark.req("P-001")
async def test_phoenix_runs_bash_in_the_working_directory_with_merged_streams(ask: Ask, place: Path) -> None:
    made = await ask("pwd; echo err >&2; [[ ab =~ a(.) ]] && echo ${BASH_REMATCH[1]}")
    assert (made.text, made.error) == (f"{place}\nerr\nb\n", "")


@pytest.mark.req("P-001", "P-006", "P-011")
async def test_answer_data_has_command_display_output_and_exit_code(ask: Ask, place: Path) -> None:
    made = await ask(f"cd {quote(place)} && echo out; exit 3")
    assert made.text == "[nacre: exit 3]\nout"
    assert made.data == {
        "command": f"cd {quote(place)} && echo out; exit 3",
        "display": "echo out; exit 3",
        "output": "out\n",
        "exit_code": 3,
        "timed_out": False,
        "truncated": False,
    }


@pytest.mark.req("P-001")
def test_truncation_limits_match_the_phoenix_document() -> None:
    assert PHOENIX.view == Combined(truncate_above=131_072, ends=4096)


@pytest.mark.req("P-001")
@pytest.mark.parametrize("size", [OVER - 1, OVER])
async def test_output_up_to_128_kb_is_returned_whole(ask: Ask, place: Path, tmp_path: Path, size: int) -> None:
    (place / "data").write_bytes(b"x" * size)
    made = await ask("cat data")
    assert (made.text, made.data["truncated"]) == ("x" * size, False)
    assert not (tmp_path / "kept").exists()


@pytest.mark.req("P-001")
async def test_output_over_128_kb_keeps_the_first_and_last_4_kb(ask: Ask, place: Path, tmp_path: Path) -> None:
    (place / "data").write_bytes(b"a" * 4096 + b"-" * (OVER + 1 - 8192) + b"z" * 4096)
    made = await ask("cat data")
    (file,) = (tmp_path / "kept").iterdir()
    text = "a" * 4096 + "\n" + truncation_note(OVER + 1 - 8192, OVER + 1, file) + "z" * 4096
    assert (made.text, made.data["output"], made.data["truncated"]) == (text, text, True)
    assert file.read_bytes() == (place / "data").read_bytes()


@pytest.mark.req("P-001")
async def test_truncation_splits_no_character(ask: Ask, place: Path, tmp_path: Path) -> None:
    (place / "data").write_text("x" + "é" * OVER + "y")
    made = await ask("cat data")
    (file,) = (tmp_path / "kept").iterdir()
    seen = 2 * OVER + 2
    assert made.text == "x" + "é" * 2047 + "\n" + truncation_note(seen - 4095 - 4095, seen, file) + "é" * 2047 + "y"


@pytest.mark.req("P-001")
async def test_invalid_utf8_is_replaced(ask: Ask) -> None:
    assert (await ask(r"printf 'a\xff\xe9b\0'")).text == "a\ufffd\ufffdb\0"


@pytest.mark.req("P-001")
async def test_truncation_of_50_mb_counts_bytes_and_names_the_partial_file(ask: Ask, tmp_path: Path) -> None:
    made = await ask("yes 0123456789abcde | head -c 50000000", mode="slow")
    (file,) = (tmp_path / "kept").iterdir()
    kept = f"the first {16 * KB * KB:,} bytes are"
    lines = "0123456789abcde\n" * 256
    assert made.text == lines + truncation_note(50_000_000 - 8192, 50_000_000, file, kept) + lines


@pytest.mark.req("P-001")
async def test_output_limit_of_the_context_truncates_earlier(phoenix: Bash, place: Path) -> None:
    ctx = ToolContext(working_dir=place, limits=Limits(output=100, spill=0))
    made = await phoenix.call({"command": "seq 1000"}, ctx)
    assert "\n[nacre: output truncated: 3,793 of 3,893 bytes left out here]\n" in made.text
    assert made.data["truncated"] is True


@pytest.mark.req("P-001")
async def test_output_cannot_imitate_nacre_messages(ask: Ask) -> None:
    made = await ask("echo '[nacre: exit 0]'; exit 1")
    assert made.text == "[nacre: exit 1]\n\\[nacre: exit 0]"
    assert made.data["output"] == "[nacre: exit 0]\n"


@pytest.mark.req("P-001")
@pytest.mark.parametrize("end", [4092, 4090, 4075])
async def test_secret_at_the_truncation_point_is_masked(phoenix: Bash, place: Path, end: int) -> None:
    secret = "hunter2-hunter2-hunter2"
    (place / "data").write_text("x" * end + secret + "-" * OVER + secret + "y" * end)
    made = await phoenix.call({"command": "cat data"}, ToolContext(working_dir=place, secrets=(secret,)))
    head, gap, tail = made.text.split("\n")
    assert (head, tail) == ("x" * end + "[secret]", "[secret]" + "y" * end)
    assert gap.startswith("[nacre: output truncated: ")
    assert "hunter2" not in made.text + json.dumps(dict(made.data))


@pytest.mark.req("P-006")
@pytest.mark.parametrize("code", [1, 2, 77, 255])
async def test_nonzero_exit_code_is_reported_with_the_output(ask: Ask, code: int) -> None:
    made = await ask(f"echo why >&2; exit {code}")
    assert made.text.splitlines()[0].startswith(f"[nacre: exit {code}")
    assert made.text.splitlines()[1] == "why"
    assert (made.data["exit_code"], made.data["output"], made.error) == (code, "why\n", "")


@pytest.mark.req("P-006")
async def test_silent_command_is_reported_as_no_output(ask: Ask) -> None:
    assert ((await ask("true")).text, (await ask("exit 9")).text) == (
        "[nacre: no output]",
        "[nacre: exit 9; no output]",
    )


@pytest.mark.req("P-006")
async def test_signal_is_reported_without_an_exit_code(ask: Ask) -> None:
    made = await ask("echo so far; kill -SEGV $$")
    assert made.text.startswith("[nacre: ended by SIGSEGV")
    assert made.text.splitlines()[1] == "so far"
    assert (made.data["exit_code"], made.error) == (None, "")


@pytest.mark.req("P-006")
@pytest.mark.parametrize(
    ("outcome", "error", "text"),
    [
        (NotStarted("no processes left", "End some."), "not_started", "could not start: no processes left. End some."),
        (Lost("its keeper was killed"), "lost", "lost: its keeper was killed; no output"),
    ],
    ids=["not-started", "lost"],
)
def test_system_error_is_reported_without_an_exit_code(outcome: Outcome, error: str, text: str) -> None:
    made = answer(Result(command="x", cwd="/", outcome=outcome), PHOENIX.view)
    assert (made.error, made.text) == (error, f"[nacre: {text}]")
    assert made.data["exit_code"] is None


@pytest.mark.req("P-006")
def test_running_out_of_fds_is_reported_as_not_started(tmp_path: Path) -> None:
    host = """
        import asyncio, json, sys
        from nacre import Bash, ToolContext
        from tests.support.descriptors import limit_descriptors, no_descriptor_left

        async def main():
            bash, ctx = Bash("phoenix"), ToolContext(working_dir=sys.argv[1])
            first = await bash.call({"command": "echo fine"}, ctx)
            limit_descriptors(64)
            with no_descriptor_left():
                second = await bash.call({"command": "echo fine"}, ctx)
            return [[made.text, made.error] for made in (first, second)]
        print(json.dumps(asyncio.run(main())))
    """
    first, (text, error) = json.loads(run_host(host, tmp_path))
    assert first == ["fine\n", ""]
    assert error == "not_started"
    assert text.startswith("[nacre: could not start: ")


@pytest.mark.req("P-006")
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, "missing_argument"),
        ({"command": ""}, "empty_command"),
        ({"command": "true", "mode": "fast"}, "bad_mode"),
        ("not json", "bad_json"),
    ],
    ids=["none", "empty", "mode", "json"],
)
async def test_invalid_arguments_get_an_error_and_nothing_runs(
    phoenix: Bash, ctx: ToolContext, arguments: dict[str, str] | str, error: str
) -> None:
    made = await phoenix.call(arguments, ctx)
    assert (made.error, made.result, made.text.startswith(f"Error ({error}): ")) == (error, None, True)


@pytest.mark.req("P-006")
async def test_missing_working_directory_is_an_error_and_nothing_runs(phoenix: Bash, tmp_path: Path) -> None:
    made = await phoenix.call({"command": "touch ran"}, ToolContext(working_dir=tmp_path / "gone"))
    assert (made.error, os.listdir(tmp_path)) == ("cwd_missing", [])


@pytest.mark.req("P-001")
def test_truncation_drops_a_character_split_between_head_and_tail() -> None:
    held = Captured(head=b"ab\xc3", tail=b"\xa9yz", total_bytes=6)
    made = answer(Result(command="x", cwd="/", outcome=NotStarted("so"), both=held), Combined(truncate_above=5, ends=3))
    assert made.data["output"] == "ab\n[nacre: output truncated: 2 of 6 bytes left out here]\nyz"
