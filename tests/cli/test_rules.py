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


def test_rules_lists_every_rule_with_its_decision(nacre: Nacre) -> None:
    done = nacre("rules")
    assert (done.code, done.err) == (0, b"")
    lines = [re.split(r" {2,}| (?=[a-z`])", line, maxsplit=2) for line in done.out.decode().splitlines()]
    assert [line[0] for line in lines] == sorted(page.id for page in pages())
    assert {line[1].split()[0] for line in lines} == {"ask", "refuse"}


def test_rules_prints_one_rule_with_reasons_and_examples(nacre: Nacre) -> None:
    done = nacre("rules", "git-push-force")
    assert (done.code, done.err) == (0, b"")
    text = done.out.decode()
    assert text.startswith(
        "git-push-force: a forced push can erase commits that other people hold.\n\nDecision  refuse\nWhy "
    )
    assert [name for name in (*SECTIONS, "Stops", "Passes") if f"\n{name}" not in text] == []
    assert "\n  git push -f\n" in text


def test_rule_that_no_policy_can_lower_is_marked(nacre: Nacre) -> None:
    assert b"\nDecision  refuse, whatever the policy says\n" in nacre("rules", "rm-root-or-home").out


def test_rules_json_holds_the_rule_pages(nacre: Nacre) -> None:
    everything = json.loads(nacre("rules", "--json").out)["rules"]
    assert everything == [page.to_dict() for page in pages()]
    assert json.loads(nacre("rules", "--json", "git-clean").out) in everything


def test_every_rule_page_has_all_sections_a_title_and_examples() -> None:
    lacking = {page.id: [name for name in SECTIONS if not page.sections.get(name)] for page in pages()}
    assert {id: names for id, names in lacking.items() if names} == {}
    assert [page.id for page in pages() if not page.title or not page.hits or not page.passes] == []


def test_rule_examples_are_printable() -> None:
    odd = [
        page.id for page in pages() for each in (*page.hits, *page.passes) if not each.replace("\n", "").isprintable()
    ]
    assert odd == []


def test_rule_pages_in_docs_match_the_generated_ones(tmp_path: Path) -> None:
    """`make rules` generates them."""
    script = [sys.executable, str(ROOT / "scripts" / "rule_pages.py"), "--to", str(tmp_path)]
    subprocess.run(script, check=True, timeout=HANG_TIMEOUT_S)
    assert texts(ROOT / "docs" / "rules") == texts(tmp_path)


def texts(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in directory.iterdir()}
