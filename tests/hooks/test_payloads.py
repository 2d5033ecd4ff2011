"""Payloads of each agent, by its published contract (source and date in the file), and the answers to them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nacre.hooks.handle import PROTOCOLS, answer
from tests.hooks.fixtures import CASES, FIXTURES, payload_of


def test_hook_payload_fixtures_cover_every_agent_with_source_and_date() -> None:
    assert {fixture["agent"] for fixture in FIXTURES.values()} == {dialect.NAME for dialect in PROTOCOLS}
    assert all("https://" in fixture["source"] and "2026" in fixture["dated"] for fixture in FIXTURES.values())


@pytest.mark.parametrize(("agent", "case"), CASES)
def test_agent_is_recognised_by_its_payload(agent: str, case: dict[str, Any]) -> None:
    assert next(dialect.NAME for dialect in PROTOCOLS if dialect.recognises(case["payload"])) == agent


@pytest.mark.parametrize(("agent", "case"), CASES)
def test_hook_answer_has_the_format_of_the_agent(agent: str, case: dict[str, Any]) -> None:
    reply = answer(json.dumps(case["payload"]).encode())
    assert reply.code == case["code"]
    assert bool(reply.err.strip()) == (case["code"] == 2)
    said = json.loads(reply.out) if reply.out else None
    _without_reasons(said)
    assert said == case.get("out")


def _without_reasons(said: Any) -> None:
    """Remove the reasons from an answer; check that each begins with `nacre`."""
    if not isinstance(said, dict):
        return
    for name in ("user_message", "agent_message", "permissionDecisionReason"):
        if name in said:
            assert said.pop(name).startswith("nacre")
    for below in said.values():
        _without_reasons(below)


@pytest.mark.parametrize("fixture", FIXTURES.values(), ids=FIXTURES)
def test_hook_reason_names_rule_and_alternative(fixture: dict[str, Any]) -> None:
    case = next(case for case in fixture["cases"] if case["name"] == "refused")
    assert answer(json.dumps(case["payload"]).encode()).err == (
        "nacre (rm-root-or-home): `rm -rf /` would delete the whole file system. "
        "Instead: name the one directory that has to go, as in `rm -rf ./build`\n"
    )


@pytest.mark.parametrize("fixture", FIXTURES.values(), ids=FIXTURES)
def test_hook_that_cannot_prompt_says_that_the_user_must_run_the_command(fixture: dict[str, Any]) -> None:
    case = next(case for case in fixture["cases"] if case["name"].startswith("not asked"))
    reply = answer(json.dumps(case["payload"]).encode())
    assert reply.err.endswith("It needs approval, which this hook cannot request: ask the user to run it.\n")


@pytest.mark.parametrize("fixture", FIXTURES.values(), ids=FIXTURES)
def test_hook_answer_without_prompting_is_a_refusal(fixture: dict[str, Any]) -> None:
    for case in fixture["cases"]:
        if case["name"].startswith("asked"):
            assert answer(json.dumps(case["payload"]).encode(), ask=False).code == 2


@pytest.mark.parametrize(("agent", "case"), CASES)
def test_unknown_payload_field_does_not_change_the_hook_answer(agent: str, case: dict[str, Any]) -> None:
    more = {**case["payload"], "something_new": {"deep": [1, None]}}
    assert answer(json.dumps(more).encode()) == answer(json.dumps(case["payload"]).encode())


@pytest.mark.parametrize("agent", FIXTURES)
@pytest.mark.parametrize("wrong", [None, 7, [], {}, "", True], ids=repr)
def test_payload_field_of_a_wrong_type_never_lets_a_refused_command_pass(agent: str, wrong: object) -> None:
    payload = payload_of(agent, "refused")
    for name in payload:
        reply = answer(json.dumps({**payload, name: wrong}).encode())
        unknown = wrong == "" and name in ("hook_event_name", "tool_name")  # another event, or another tool
        assert reply.code == (0 if unknown else 2)
