"""The checker against its corpus: destructive commands are stopped, harmless ones allowed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nacre import Decision, Policy, Verdict
from nacre.policy.evaluate import evaluate
from nacre.policy.policy import DEFAULT
from nacre.policy.rule import CheckContext
from nacre.shell import read

CORPUS = Path(__file__).parents[1] / "corpus"
HOME = "/home/dev"
PROJECT = "/home/dev/project"


def entries(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPUS / name).read_text().splitlines()]


def verdict(command: str, cwd: str = PROJECT, policy: Policy = DEFAULT) -> Verdict:
    around = CheckContext(
        cwd, HOME, find_mount_points=lambda: ("/", "/proc", "/data"), own_runtime_names=("python3", "python")
    )
    return evaluate(read(command, cwd=cwd, home=HOME), around, policy)


COMMANDS = entries("commands.jsonl")
POSITIONS = entries("positions.jsonl")


def test_corpus_is_large_and_about_half_harmless() -> None:
    harmless = sum(entry["want"] == "allow" for entry in COMMANDS)
    assert len(COMMANDS) >= 400
    assert 0.4 < harmless / len(COMMANDS) < 0.6


@pytest.mark.req("P-007", "M-09", "T-03", "K-04")
@pytest.mark.parametrize("kind", sorted({entry["class"] for entry in COMMANDS}))
def test_corpus_command_gets_the_expected_verdict(kind: str) -> None:
    wrong = []
    for entry in COMMANDS:
        if entry["class"] != kind:
            continue
        found = verdict(entry["command"], entry.get("cwd", PROJECT))
        if entry["want"] == "allow":
            right = found.decision is Decision.ALLOW
        elif entry.get("seed"):
            right = found.decision is Decision.REFUSE
        else:
            right = found.decision is not Decision.ALLOW
        if not right:
            wrong.append((entry["command"], found.decision.value, found.rule))
    assert wrong == []


def test_known_disagreements_still_get_the_recorded_verdict() -> None:
    """Some are misses, some are debatable: when the checker learns one, it moves from there to the corpus."""
    changed = [
        entry["command"]
        for entry in entries("disagreements.jsonl")
        if verdict(entry["command"]).decision.value != entry["got"]
    ]
    assert changed == []


NOT_FOUND = {
    "function: command_not_found_handle runs arguments": "a handler that bash calls by itself",
    "wrapper (program missing or not run here): docker run": "runs in a container, not here",
    "wrapper (program missing or not run here): docker exec sh -c": "runs in a container, not here",
    "wrapper (program missing or not run here): podman run": "runs in a container, not here",
    "wrapper (program missing or not run here): kubectl exec": "runs in a container, not here",
    "shell: echo | base64 | base64 -d | sh": "not decoded; refused as decoded text that reaches a shell",
    "program: awk -v system": "awk is read by shape, not by grammar",
    "program: perl open pipe": "perl is read by shape, not by grammar",
    "program: make SHELL variable override": "make is not expanded",
    "program: PATH directory program": "programs are not looked up",
}
"""Positions in which a command is not seen, and why."""


def runs_the_payload(text: str) -> bool:
    script = read(text.replace("@@", "touch MARK"), cwd=PROJECT, home=HOME)
    return bool(script.gave_up) or any(command.argv[:2] == ("touch", "MARK") for command in script.commands)


@pytest.mark.req("P-007")
def test_command_is_found_wherever_bash_would_run_it() -> None:
    positions = [entry for entry in POSITIONS if entry["runs"]]
    missed = {entry["where"] for entry in positions if not runs_the_payload(entry["text"])}
    assert missed == NOT_FOUND.keys()
    assert len(missed) <= 0.01 * len(positions)


SEEN_THOUGH_DATA = {
    "odd data: declare -A m; (( m['$(@@)']++ ))": "the quoted key of an associative array, in arithmetic",
}


def test_text_that_bash_would_not_run_is_treated_as_data() -> None:
    seen = {entry["where"] for entry in POSITIONS if not entry["runs"] and runs_the_payload(entry["text"])}
    assert seen == SEEN_THOUGH_DATA.keys()
