"""The table of tasks, and the escaping of untrusted text. No command is run."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.ansi.width import columns
from nacre.result import Exited, Killed, Lost, Outcome, OverLimit, Process, Running, Signalled, TimedOut
from nacre.tasks.store.task import Task, TaskState
from nacre.views.console.capabilities import TerminalCapabilities
from nacre.views.console.escape import TerminalFilter, escape_text, fit
from nacre.views.console.task_table import build_task_table
from nacre.views.gallery import results
from nacre.views.panels.style import render
from nacre.views.panels.task_table import task_table


def task(state: TaskState = "running", outcome: Outcome | None = None, **fields: object) -> Task:
    shape: dict[str, object] = {"id": "bash-3f9c2a17", "command": "make", "pid": 4711, "bytes": 1234, "duration": 65.0}
    return Task(directory="/d", state=state, outcome=outcome, **{**shape, **fields})  # type: ignore[arg-type]


def table(tasks: list[Task], width: int) -> list[str]:
    return build_task_table(tasks, width).lines


RUNNING = Running("bash-3f9c2a17")


def test_task_table_shows_state_sizes_and_problems() -> None:
    rows = [
        task("running", RUNNING, idle=3.0, description="build it"),
        task("ended", Exited(7)),
        task("ended", Signalled(9), out_of_memory=True),
        task("ended", Signalled(11)),
        task("ended", TimedOut(5.0)),
        task("ended", OverLimit("memory", 1, 2)),
        task("ended", Killed("somebody"), running=(Process(5, 5, "sleep 60"),)),
        task("lost", Lost("the machine was restarted")),
        task("ended", Exited(0), problem="the disk was full"),
        task("broken", None, pid=None, problem="it has no task.json", command=""),
    ]
    assert (
        "\n".join(table(rows, 100))
        == """\
ID             STATE           TIME  QUIET  BYTES   PID  COMMAND
bash-3f9c2a17  running        1m05s   3.0s   1.2K  4711  build it
bash-3f9c2a17  exit 7         1m05s      -   1.2K  4711  make
bash-3f9c2a17  out of memory  1m05s      -   1.2K  4711  make
bash-3f9c2a17  SIGSEGV        1m05s      -   1.2K  4711  make
bash-3f9c2a17  timed out      1m05s      -   1.2K  4711  make
bash-3f9c2a17  over memory    1m05s      -   1.2K  4711  make
bash-3f9c2a17  killed         1m05s      -   1.2K  4711  [still there: 5 (sleep 60)] make
bash-3f9c2a17  lost           1m05s      -   1.2K  4711  [the machine was restarted] make
bash-3f9c2a17  exit 0         1m05s      -   1.2K  4711  [the disk was full] make
bash-3f9c2a17  broken             -      -      -     -  [it has no task.json]"""
    )


def test_narrow_task_table_drops_columns_before_it_cuts_commands() -> None:
    (header, line) = table([task("running", RUNNING, idle=3.0, command="make all install")], 60)
    assert header.split() == ["ID", "STATE", "TIME", "QUIET", "COMMAND"]
    assert line.endswith("make all install")
    assert table([task("running", RUNNING)], 30)[1] == "bash-3f9c2a17  running  make"
    assert table([task("running", RUNNING)], 10)[1] == "bash-3f9c…"


@pytest.mark.req("P-011")
def test_task_table_marks_long_blanks_and_omits_cd_to_the_directory() -> None:
    rows = [task(command="sleep 4" + " " * 400 + "; rm x"), task(command="cd /w && make || echo no", cwd="/w")]
    assert [line.split("4711  ")[1] for line in table(rows, 100)[1:]] == [
        "sleep 4 ⟨400 blanks⟩ ; rm x",
        "make || echo no",
    ]


@pytest.mark.parametrize(
    "look",
    [
        TerminalCapabilities(100),
        TerminalCapabilities(60, colour=True),
        TerminalCapabilities(80, utf8=False),
        TerminalCapabilities(30, utf8=False),
    ],
)
def test_coloured_task_table_has_the_same_text(look: TerminalCapabilities) -> None:
    painted = re.sub(r"\x1b\[[0-9;]*m", "", render(task_table(results.TASKS, look), look)).splitlines()
    assert [line.rstrip() for line in (painted[0], *painted[2:])] == build_task_table(
        results.TASKS, look.width, utf8=look.utf8
    ).lines
    assert all(columns(line) <= look.width for line in painted)


@given(st.text(), st.text(), st.integers(1, 120))
def test_task_table_lines_fit_the_width_and_are_printable(command: str, name: str, width: int) -> None:
    rows = [task("running", RUNNING, command=command), task("broken", None, id=repr(name), problem=name)]
    lines = table(rows, width)
    assert len(lines) == 3
    for line in lines:
        assert columns(line) <= width
        assert line.isprintable()


@given(st.text(alphabet=st.characters(codec=None)))
def test_escaped_text_is_printable_and_escaping_is_idempotent(text: str) -> None:
    assert escape_text(text).isprintable()
    assert escape_text(escape_text(text)) == escape_text(text)


@pytest.mark.parametrize(
    ("text", "shows"),
    [
        ("plain 'text' \\ ünï 漢字", "plain 'text' \\ ünï 漢字"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x1b[2J\x7f\x9b", "\\x1b[2J\\x7f\\x9b"),
        ("\u202e\u200b\ufeff\U000e0041", "\\u202e\\u200b\\ufeff\\U000e0041"),
        ("\u3164\u2800\ufe0f", "\\u3164\\u2800\\ufe0f"),
        ("e\u0301 e\u0301\u0301\u0301\u0301", "e\u0301 e\u0301\u0301\\u0301\\u0301"),
        ("\u0301x", "\\u0301x"),
        ("\udcff\ud800", "\\xff\\ud800"),
    ],
)
def test_escape_text_spells_out_invisible_characters(text: str, shows: str) -> None:
    assert escape_text(text) == shows


def test_fit_cuts_text_to_the_width_between_characters() -> None:
    assert fit("x" * 10_000_000, 5) == "xxxx…"
    assert fit("漢字漢字", 6) == "漢字…"
    assert fit("漢字漢", 6) == "漢字漢"
    assert fit("🇩🇪🇫🇷", 4) == "🇩🇪🇫🇷"
    assert fit("🇩🇪🇫🇷x", 4) == "🇩🇪…"
    assert fit("\u1100" + "\u1161" * 1000 + "; rm x", 40).endswith("\u1161…")  # vowels take no column
    assert fit("x", 0) == ""


@given(st.lists(st.binary(max_size=20)))
def test_terminal_filter_emits_only_text_newlines_and_colours(parts: list[bytes]) -> None:
    screen = TerminalFilter()
    text = "".join(screen.show(part) for part in parts) + screen.end()
    rest = re.sub(r"\x1b\[[0-9;:]*m", "", text)
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u202a-\u202e\ud800-\udfff]|\r(?!\n)", rest)


@pytest.mark.parametrize(
    ("text", "shows"),
    [
        ("rm -rf /\rls      \n", "rm -rf /\\rls      \n"),
        ("one\r\ntwo\r\n", "one\r\ntwo\r\n"),
        ("a\u200bb\u2060c\ufeffd\u200de", "a\\u200bb\\u2060c\\ufeffd\\u200de"),
        ("\U0001f468\u200d\U0001f469 \u26a0\ufe0f", "\U0001f468\u200d\U0001f469 \u26a0\ufe0f"),
    ],
)
def test_terminal_filter_spells_out_invisible_and_overwriting_characters(text: str, shows: str) -> None:
    assert [TerminalFilter().show(text.encode()), _byte_by_byte(text.encode())] == [shows, shows]


def _byte_by_byte(data: bytes) -> str:
    screen = TerminalFilter()
    return "".join(screen.show(bytes([each])) for each in data) + screen.end()


@given(st.integers(0, 30), st.integers(0, 30))
def test_terminal_filter_output_does_not_depend_on_chunk_boundaries(first: int, second: int) -> None:
    data = "\x1b[1;31mré\x1b[d\x1b[0m\x1b[38;5;8m漢".encode()
    low, high = sorted((first, second))
    screen = TerminalFilter()
    text = screen.show(data[:low]) + screen.show(data[low:high]) + screen.show(data[high:]) + screen.end()
    assert text == "\x1b[1;31mré\\x1b[d\x1b[0m\x1b[38;5;8m漢\x1b[0m"
