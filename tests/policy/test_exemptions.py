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
def test_exemption_does_not_cover_other_paths(command: str, decision: Decision) -> None:
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
def test_directory_exemption_does_not_cover_another_git_repository(command: str) -> None:
    assert check("git push -f", cwd="/home/dev/project", policy=HERE).allowed
    assert check(command, cwd="/home/dev/project", policy=HERE).refused


def test_directory_exemption_does_not_cover_a_git_dir_in_the_environment() -> None:
    env = {"GIT_DIR": "/other/.git"}
    assert check("git push -f", cwd="/home/dev/project", policy=HERE, env=env).refused


@pytest.mark.parametrize("path", ["etc/hosts", "~/x", "*", "", "/opt/", "/opt/../srv", "./x"])
def test_exemption_path_must_be_absolute_and_normal(path: str) -> None:
    with pytest.raises(InvalidPolicy, match="absolute"):
        Exemption("write-etc", path)


def test_exemption_must_name_one_rule() -> None:
    with pytest.raises(InvalidPolicy, match=r"to one rule.*decisions="):
        Exemption("*", "/opt")
    with pytest.raises(InvalidPolicy, match="to one rule"):
        Exemption("*")


def test_each_loop_iteration_is_a_separate_finding() -> None:
    verdict = check("for d in /opt /srv; do rm -rf $d; done", cwd="/home/dev/project")
    assert [finding.words for finding in verdict.findings] == ["rm -rf /opt", "rm -rf /srv"]
