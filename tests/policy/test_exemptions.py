"""An exemption lifts one rule in one place, and nothing beside it."""

from __future__ import annotations

import pytest

from nacre import Decision, Policy, check
from nacre.policy.policy import Exemption

POLICY = Policy(exemptions=(Exemption("rm-precious", "/opt"),))


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("rm -rf /opt", Decision.ALLOW),
        ("rm -rf /opt /srv", Decision.REFUSE),
        ("for d in /opt /srv; do rm -rf $d; done", Decision.REFUSE),
        ("for d in /srv /opt; do rm -rf $d; done", Decision.REFUSE),
    ],
)
def test_what_is_not_exempted_is_still_found(command: str, decision: Decision) -> None:
    assert check(command, cwd="/home/dev/project", policy=POLICY).decision is decision


def test_each_round_of_a_loop_is_a_finding_of_its_own() -> None:
    verdict = check("for d in /opt /srv; do rm -rf $d; done", cwd="/home/dev/project")
    assert [finding.words for finding in verdict.findings] == ["rm -rf /opt", "rm -rf /srv"]
