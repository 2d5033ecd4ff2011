"""An exemption lifts one rule in one place, and nothing else."""

from __future__ import annotations

import pytest

from nacre import Decision, Policy, check
from nacre.errors import InvalidPolicy
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


HERE = Policy(exemptions=(Exemption("git-push-force", "/home/dev/project"),))


@pytest.mark.parametrize(
    "command",
    [
        "git --git-dir=/other/.git push -f",
        "git --git-dir /other/.git push -f",
        "git --work-tree=/other push -f",
        "git -c core.workTree=/other push -f",
        "GIT_DIR=/other/.git git push -f",
        "env GIT_DIR=/other/.git git push -f",
        "export GIT_DIR=/other/.git; git push -f",
        "export GIT_WORK_TREE=/other\ngit push -f",
    ],
)
def test_a_place_is_not_that_of_another_repository(command: str) -> None:
    assert check("git push -f", cwd="/home/dev/project", policy=HERE).allowed
    assert check(command, cwd="/home/dev/project", policy=HERE).refused


def test_a_place_is_not_that_of_a_repository_in_the_environment() -> None:
    env = {"GIT_DIR": "/other/.git"}
    assert check("git push -f", cwd="/home/dev/project", policy=HERE, env=env).refused


@pytest.mark.parametrize("path", ["etc/hosts", "~/x", "*", "", "/opt/", "/opt/../srv", "./x"])
def test_a_path_that_no_place_has_is_a_mistake(path: str) -> None:
    with pytest.raises(InvalidPolicy, match="absolute"):
        Exemption("write-etc", path)


def test_an_exemption_is_for_one_rule() -> None:
    with pytest.raises(InvalidPolicy, match=r"for one rule.*decisions="):
        Exemption("*", "/opt")
    with pytest.raises(InvalidPolicy, match="for one rule"):
        Exemption("*")


def test_each_round_of_a_loop_is_a_finding_of_its_own() -> None:
    verdict = check("for d in /opt /srv; do rm -rf $d; done", cwd="/home/dev/project")
    assert [finding.words for finding in verdict.findings] == ["rm -rf /opt", "rm -rf /srv"]
