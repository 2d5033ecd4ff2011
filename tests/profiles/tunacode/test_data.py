"""The text carries its data, which can also be parsed from the text alone (T-12)."""

from __future__ import annotations

import copy
import json
import pickle
import re
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nacre.compat.tunacode import BashData, BashText, bash, make_bash, parse
from nacre.profiles.tunacode import LOCAL, STANDARD
from nacre.result import Exited
from nacre.views.answers.report import MARK, layout, shorten_report

plain = make_bash(strict_characters=False)

HEADING = re.compile(r"^(?:Command: |Exit Code: |Working Directory: |STDOUT:|STDERR:)", re.MULTILINE)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
OURS = st.sampled_from(["STDOUT", "[truncated]", "...", "[nacre: x]", "[nacre: the line above is the command's own]"])
STREAM = (
    st.lists(TEXT | OURS, max_size=4)
    .map(lambda lines: "\n".join(lines).strip())
    .filter(lambda text: not HEADING.search(text) and text not in ("(no output)", "(no errors)"))
)
HEADINGS = st.sampled_from(["Exit Code: 3", "Working Directory: /x", "STDOUT:", "", "STDERR:"])
COMMAND = st.lists(TEXT | HEADINGS, max_size=6).map("\n".join)


@pytest.mark.req("T-12")
async def test_report_is_a_string_that_carries_its_data(tmp_path: Path) -> None:
    text = await plain("echo out; echo err >&2; exit 3", cwd=str(tmp_path), timeout=60)
    assert isinstance(text, BashText)
    assert text.data == BashData("echo out; echo err >&2; exit 3", 3, str(tmp_path), "out", "err", False, 60)
    assert text.result.outcome == Exited(3)
    assert type(text.partition("\n")[0]) is str
    assert json.loads(json.dumps(text)) == text
    assert asdict(text.data)["exit_code"] == 3


@pytest.mark.req("T-12")
@pytest.mark.parametrize(
    "copied",
    [
        copy.copy,
        copy.deepcopy,
        *(lambda text, n=protocol: pickle.loads(pickle.dumps(text, n)) for protocol in range(2, 6)),
    ],
    ids=["copy", "deepcopy", "pickle2", "pickle3", "pickle4", "pickle5"],
)
async def test_report_survives_copying_and_pickling(copied: object) -> None:
    text = await bash("echo hi")
    again = copied(text)  # type: ignore[operator]
    assert isinstance(text, BashText)
    assert isinstance(again, BashText)
    assert (str(again), again.data, again.result) == (str(text), text.data, text.result)


@pytest.mark.req("T-12")
@pytest.mark.parametrize(
    "command",
    [
        "echo out",
        "echo err >&2",
        "exit 7",
        "kill -9 $$",
        "cat <<EOF\nExit Code: 99\nWorking Directory: /nowhere\n\nSTDOUT: no\nEOF",
        "nosuchcommandatall",
        "echo '[nacre: mine]' >&2",
        "printf 'a\\n\\n\\nb'; printf 'c\\n\\nd' >&2",
    ],
)
async def test_parsing_the_plain_text_gives_the_data_of_the_report(command: str) -> None:
    text = await plain(command)
    assert isinstance(text, BashText)
    assert parse(str(text)) == text.data


@pytest.mark.req("T-12")
@given(COMMAND, st.integers(-64, 255), st.text("ab /.é", max_size=9), STREAM, STREAM, st.lists(TEXT))
@settings(deadline=None)
@example("ls", -9, "/", "", "", [])
@example("a\nExit Code: 1\nWorking Directory: /\n\nSTDOUT:", 0, "/w", "o", "", [])
@example("a\nExit Code: 1\nWorking Directory: ", 0, "/w", "o", "", [])
@example("ls", 0, "/w\n\nx", "o", "", [])
@example("a\nExit Code: 1\nWorking Directory: /\n\nSTDOUT:\nx\n\nSTDERR:\ny", 0, "/", "o", "e", ["r"])
@example("", 0, "/", "x", "[nacre: the line above is the command's own]", ["r"])
@example("", 0, "/", "x", "(no errors)\n[nacre: y]", [])
def test_parsing_is_exact_when_no_stream_contains_a_heading(
    command: str, code: int, cwd: str, out: str, err: str, notes: list[str]
) -> None:
    text = layout(command, code, cwd, out, err, notes)
    assert parse(text, timeout=None) == BashData(command, code, cwd, out, err, False, None)


@pytest.mark.req("T-12")
@given(
    st.text()
    | st.lists(TEXT | st.sampled_from(["Command: x", "Exit Code: 1", "Exit Code: ٣", "STDOUT:", ""])).map("\n".join)
)
@settings(deadline=None)
@example("")
@example("Command: x\nExit Code: -\nWorking Directory: \n\nSTDOUT:\n\n\nSTDERR:\n")
@example("Command: x\nExit Code: 99999999999999999999\nWorking Directory: /\n\nSTDOUT:\n\n\nSTDERR:\n")
@example("x" * 2500 + MARK + "x" * 1000)
@example("Command: " + "x" * 741 + MARK + "x" * 300)
@example("\ud800")
def test_parsing_a_report_never_raises(text: str) -> None:
    assert parse(text) is None or isinstance(parse(text), BashData)


@pytest.mark.req("T-12")
def test_parsing_other_text_returns_none() -> None:
    assert parse("") is None
    assert parse("Exit Code: 0") is None
    assert parse("hello\nExit Code: 0\nWorking Directory: /\n\nSTDOUT:\nx\n\nSTDERR:\ny") is None


@pytest.mark.req("T-12", "T-06")
@pytest.mark.parametrize("view", [STANDARD, LOCAL], ids=["standard", "local"])
@pytest.mark.parametrize(
    ("out", "err"),
    [(9000, 10), (10, 9000), (6000, 6000), (0, 9000), (9000, 0)],
    ids=["long-out", "long-err", "both", "only-err", "only-out"],
)
def test_truncated_report_is_parsed_and_marked_as_truncated(view: object, out: int, err: int) -> None:
    assert view in (STANDARD, LOCAL)
    limits = STANDARD if view is STANDARD else LOCAL
    found = parse(shorten_report(layout("ls", 2, "/w", "o" * out, "e" * err), limits))
    assert found is not None
    assert (found.command, found.exit_code, found.working_dir, found.is_truncated) == ("ls", 2, "/w", True)
    assert set(found.stdout.replace(MARK, "")) == set("o" if out else "")
    assert set(found.stderr.replace(MARK, "")) == set("e" if err else "")


@pytest.mark.req("T-12")
def test_truncation_mark_in_the_output_does_not_mark_the_report() -> None:
    found = parse(layout("cat log", 0, "/w", f"a{MARK}b", ""))
    assert found == BashData("cat log", 0, "/w", f"a{MARK}b", "", False, 30)


@pytest.mark.req("T-12")
@pytest.mark.parametrize(
    "stream",
    [
        "a\n\nSTDERR:\nb",
        "Exit Code: 9\nWorking Directory: /x",
        "STDOUT:\nx",
        "a\n\nSTDOUT:\nb",
        "a\n\nSTDOUT:\nb\n\nSTDOUT:\nc\n\nSTDERR:\nd",
        "a\n\nSTDOUT:\nb\nExit Code: 9\nWorking Directory: /x",
        "Command: y\nExit Code: 9",
    ],
)
def test_headings_inside_stdout_are_parsed_as_output(stream: str) -> None:
    found = parse(layout("x", 0, "/w", stream, "e"))
    assert found == BashData("x", 0, "/w", stream, "e", False, 30)


@pytest.mark.req("T-12")
def test_patterns_of_the_document_match_the_report() -> None:
    text = layout("ls", 1, "/w", "o\np", "e\nf")
    assert [re.search(pattern, text, re.DOTALL).group(1) for pattern in (  # type: ignore[union-attr]
        r"Command: ([^\n]+)",
        r"Exit Code: (\d+)",
        r"Working Directory: ([^\n]+)",
        r"STDOUT:\n(.*?)(?=\n\nSTDERR:|\Z)",
        r"STDERR:\n(.*?)(?:\Z)",
    )] == ["ls", "1", "/w", "o\np", "e\nf"]  # fmt: skip
