"""`nacre rules`: every rule and its page, on the command line and in docs/rules."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from nacre.policy.rule_pages import SECTIONS, pages
from tests.cli.nacre_program import Nacre
from tests.support.waiting import HANG_TIMEOUT_S

ROOT = Path(__file__).parents[2]


def test_all_are_listed_with_decision_and_title(nacre: Nacre) -> None:
    done = nacre("rules")
    assert (done.code, done.err) == (0, b"")
    lines = [re.split(r" {2,}| (?=[a-z`])", line, maxsplit=2) for line in done.out.decode().splitlines()]
    assert [line[0] for line in lines] == sorted(page.id for page in pages())
    assert {line[1].split()[0] for line in lines} == {"ask", "refuse"}


def test_one_is_printed_with_its_reasons_and_examples(nacre: Nacre) -> None:
    done = nacre("rules", "git-push-force")
    assert (done.code, done.err) == (0, b"")
    text = done.out.decode()
    assert text.startswith(
        "git-push-force: a forced push can erase commits that other people hold.\n\nDecision  refuse\nWhy "
    )
    assert [name for name in (*SECTIONS, "Stops", "Passes") if f"\n{name}" not in text] == []
    assert "\n  git push -f\n" in text


def test_a_rule_that_no_policy_lowers_says_so(nacre: Nacre) -> None:
    assert b"\nDecision  refuse, whatever the policy says\n" in nacre("rules", "rm-root-or-home").out


def test_json_is_data(nacre: Nacre) -> None:
    everything = json.loads(nacre("rules", "--json").out)["rules"]
    assert everything == [page.to_dict() for page in pages()]
    assert json.loads(nacre("rules", "--json", "git-clean").out) in everything


def test_every_page_says_why_what_instead_and_what_it_misses() -> None:
    lacking = {page.id: [name for name in SECTIONS if not page.sections.get(name)] for page in pages()}
    assert {id: names for id, names in lacking.items() if names} == {}
    assert [page.id for page in pages() if not page.title or not page.hits or not page.passes] == []


def test_no_page_holds_what_a_reader_cannot_see() -> None:
    odd = [
        page.id for page in pages() for each in (*page.hits, *page.passes) if not each.replace("\n", "").isprintable()
    ]
    assert odd == []


def test_the_pages_in_docs_are_those_of_the_rules(tmp_path: Path) -> None:
    """`make rules` generates them."""
    script = [sys.executable, str(ROOT / "scripts" / "rule_pages.py"), "--to", str(tmp_path)]
    subprocess.run(script, check=True, timeout=HANG_TIMEOUT_S)
    assert texts(ROOT / "docs" / "rules") == texts(tmp_path)


def texts(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in directory.iterdir()}
