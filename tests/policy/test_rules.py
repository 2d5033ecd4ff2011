"""Every rule against its own examples; every message against what a model needs."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from nacre import Decision, Policy, Verdict
from nacre.policy.policy import DEFAULT
from nacre.policy.rule import Rule
from nacre.policy.rules import RULE_MODULES, load
from tests.policy.test_corpus import verdict as by_default

RULES = [load(module) for module in RULE_MODULES]
MODULES = dict(zip(RULE_MODULES, RULES, strict=True))
HITS = [(rule, example) for rule in RULES for example in rule.hits]
PASSES = [(rule, example) for rule in RULES for example in rule.passes]


NAMED = Policy(decisions={rule.id: rule.decision for rule in RULES if rule.optional})


def verdict(rule: Rule, command: str) -> Verdict:
    """Return the verdict of the default policy, with the rule switched on if it is off by default."""
    return by_default(command, policy=NAMED if rule.optional else DEFAULT)


def name(case: object) -> str:
    return case.id if isinstance(case, Rule) else ""


@pytest.mark.parametrize("module", RULE_MODULES)
def test_rule_is_listed_under_the_commands_it_examines(module: str) -> None:
    rule = load(module)
    assert rule.id == module.rpartition(".")[2].replace("_", "-")
    listed = set(RULE_MODULES[module])
    assert listed == set(rule.commands)


@pytest.mark.parametrize("rule", RULES, ids=name)
def test_rule_has_documentation_and_examples(rule: Rule) -> None:
    module = next(module for module, known in MODULES.items() if known is rule)
    page = import_module(f"nacre.policy.rules.{module}").__doc__ or ""
    assert page.startswith(f"{rule.id}: ")
    assert re.search(r"^Why ", page, re.MULTILINE)
    assert re.search(r"^Instead ", page, re.MULTILINE)
    assert re.search(r"^Misses ", page, re.MULTILINE)
    assert rule.hits
    assert rule.passes
    assert rule.decision is not Decision.ALLOW


@pytest.mark.parametrize(("rule", "example"), HITS, ids=name)
def test_rule_finds_its_examples(rule: Rule, example: str) -> None:
    assert rule.id in {finding.rule for finding in verdict(rule, example).findings}


@pytest.mark.parametrize(("rule", "example"), PASSES, ids=name)
def test_rule_ignores_its_counterexamples(rule: Rule, example: str) -> None:
    assert rule.id not in {finding.rule for finding in verdict(rule, example).findings}


@pytest.mark.req("T-04")
def test_optional_rule_is_off_until_a_policy_names_it() -> None:
    assert by_default("ls; pwd").decision is Decision.ALLOW
    assert by_default("ls; pwd", policy=NAMED).rule == "restricted-characters"


@pytest.mark.parametrize(("rule", "example"), HITS, ids=name)
def test_message_quotes_the_command_offers_an_alternative_and_is_short(rule: Rule, example: str) -> None:
    for finding in verdict(rule, example).findings:
        assert finding.words
        assert f"`{finding.words}`" in finding.message
        assert "Instead: " in finding.message
        assert finding.instead
        assert len(finding.message) <= 300
        assert 0 <= finding.start < finding.end <= len(example)
