"""The table of all profiles, and the page in docs that is generated from it."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from math import inf
from pathlib import Path

import pytest

from nacre import Decision, Policy, Profile
from nacre.base.frozen import replace
from nacre.policy.custom_rules import text_rule
from nacre.profiles import DEFAULT, NAMES, profile_named
from nacre.profiles.answer_format import AnswerFormat, Combined, Fields, Report, SeparateStreams, Summary
from nacre.profiles.table import facts, table
from nacre.profiles.tool import Parameter, Tool
from tests.support.waiting import HANG_TIMEOUT_S

ROOT = Path(__file__).parents[2]


def test_profiles_page_in_docs_is_up_to_date(tmp_path: Path) -> None:
    """`make profiles` regenerates it."""
    page = tmp_path / "profiles.md"
    script = [sys.executable, str(ROOT / "scripts" / "profile_pages.py"), "--to", str(page)]
    subprocess.run(script, check=True, timeout=HANG_TIMEOUT_S)
    assert (ROOT / "docs" / "profiles.md").read_text(encoding="utf-8") == page.read_text(encoding="utf-8")


def test_every_profile_has_a_column_and_no_cell_is_empty() -> None:
    known = [name for name in NAMES if find_spec(f"nacre.profiles.{name}")]
    header, *rows = table(profile_named(name) for name in known)
    assert header == ["", *known]
    assert {len(row) for row in rows} == {len(header)}
    assert [cell for row in rows for cell in row if not cell or "\n" in cell] == []


def test_table_of_no_profiles_has_no_rows() -> None:
    assert table([]) == [[""]]


def test_default_profile_has_the_expected_facts() -> None:
    assert facts(DEFAULT) == {
        "default timeout": "120 s",
        "slow timeout": "900 s",
        "maximum": "3600 s",
        "unit of the parameter": "seconds",
        "when the time is up": "a call: keeps running as a task; a run: killed",
        "from TERM to KILL": "1.5 s",
        "jobs left running": "kept as a task",
        "streams": "two",
        "held of each stream": "1 MB",
        "spill file": "16 MB",
        "log of a task": "64 MB",
        "access": "unrestricted",
        "rules": "nacre's",
        "answer": "one text: 30,000 characters, 1,000 lines",
        "tool": "Bash",
        "parameters": "command, description?, mode?, timeout_seconds?, cwd?, env?",
    }


def test_facts_describe_unusual_profile_values() -> None:
    other = Profile(
        name="x",
        max_timeout=inf,
        on_timeout="promote",
        leftovers="wait",
        merge=True,
        spill=0,
        log_name="x-{id}.log",
        policy=Policy(
            decisions={"*": Decision.ALLOW}, custom_rules=(text_rule("y", "z"),), default_decision=Decision.ASK
        ),
        tool=Tool(parameters=(Parameter(name="t", kind="integer", to="timeout", unit=0.001),)),
    )
    told = facts(other)
    assert [told[label] for label in ("maximum", "unit of the parameter", "when the time is up", "streams")] == [
        "none", "milliseconds", "keeps running as a task", "one",
    ]  # fmt: skip
    assert [told[label] for label in ("jobs left running", "spill file", "log of a task", "rules", "parameters")] == [
        "waited for", "none", "64 MB, x-{id}.log", "1 of its own and the floor; the rest: ask", "t?",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (Policy(), "nacre's"),
        (Policy(decisions={"git-clean": Decision.ALLOW}), "nacre's (1 changed)"),
        (Policy(decisions={"*": Decision.ASK}), "nacre's, which all ask"),
        (Policy(decisions={"*": Decision.ALLOW}), "the floor"),
        (
            Policy(decisions={"*": Decision.ALLOW, "git-clean": Decision.ASK}, custom_rules=(text_rule("y", "z"),)),
            "1 of its own, 1 of nacre's and the floor",
        ),
    ],
    ids=["ours", "changed", "all ask", "none", "some"],
)
def test_rules_are_summarized_in_a_few_words(policy: Policy, words: str) -> None:
    assert facts(replace(DEFAULT, policy=policy))["rules"] == words


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (Fields(), "an object: 30,000 characters of each stream, the first and the last half of them"),
        (Report(), "a labelled text: over 3,500 characters the first 2,500 and the last 1,000; at most 5,000"),
        (Combined(), "one stream: over 128 KB the first and the last 4 KB"),
        (Summary(), "a line, and up to 80 lines and 12 KB of the end (256 KB are looked at)"),
        (SeparateStreams(), "two streams: the first 10 MB of each"),
    ],
    ids=["fields", "report", "combined", "summary", "streams"],
)
def test_answer_format_is_described_with_its_limits(view: AnswerFormat, words: str) -> None:
    assert facts(replace(DEFAULT, view=view))["answer"] == words


def test_limit_that_is_no_round_size_is_shown_exactly() -> None:
    assert facts(replace(DEFAULT, output=30_000, spill=0))["held of each stream"] == "30,000 bytes"
    assert facts(replace(DEFAULT, output=30_000, spill=0))["spill file"] == "none"
