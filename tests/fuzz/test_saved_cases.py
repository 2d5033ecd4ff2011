"""Saved cases that failed once, and a few new cases of each target. They are the same every time, because a test must
not depend on luck, and far from those of `make fuzz`, which tries 100,000 cases, and others with `--seed`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fuzz.target import TARGETS, attack, decode_case, verdict

NAMES = [pytest.param(name, marks=[pytest.mark.mcp] if kind.needs == "mcp" else []) for name, kind in TARGETS.items()]
SAVED = [json.loads(line) for line in (Path(__file__).parent / "saved_cases.jsonl").read_text().splitlines()]


@pytest.fixture(autouse=True)
def _skip_missing_target(request: pytest.FixtureRequest) -> None:
    name = request.getfixturevalue("name") if "name" in request.fixturenames else "reading"
    if TARGETS[name].missing:
        pytest.skip(TARGETS[name].missing)


@pytest.mark.parametrize("name", NAMES)
def test_saved_fuzz_cases_do_not_fail_again(name: str) -> None:
    target = TARGETS[name].load_target()
    try:
        cases = [decode_case(entry) for entry in SAVED if entry["target"] == name]
        assert {case: wrong for case in cases if (wrong := verdict(target, case))} == {}
    finally:
        target.close()


@pytest.mark.parametrize("name", NAMES)
def test_a_few_new_fuzz_cases_do_not_fail(name: str) -> None:
    assert attack(name, 10**9, max(6, TARGETS[name].weight // 2)) == []


def test_failing_fuzz_case_is_reported_with_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nacre.hooks.handle.decode_payload", lambda payload: 1 / 0)
    found = attack("hook", 7, 2)
    assert [each.seed for each in found] == [7, 8]
    assert "ZeroDivisionError" in found[0].wrong
    assert decode_case(json.loads(found[0].line)) == found[0].case
