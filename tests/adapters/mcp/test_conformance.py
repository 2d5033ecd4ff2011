"""The protocol's own conformance suite against the server, revision by revision, and its tasks extension.

Most of its scenarios call tools of a reference server. A proxy replaces such a call with an equivalent one of ours
if there is one; it also adds the token, which the suite cannot send. `LEFT_OUT` lists what is not run.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.mcp.clients import ASKS, PYTHON, environment, node, start_http_server
from tests.adapters.mcp.proxy import proxy
from tests.support.lifeline import Gate
from tests.support.waiting import HANG_TIMEOUT_S

pytestmark = [pytest.mark.mcp_tools, pytest.mark.timeout(300)]

TOKEN = "a-token-of-the-test-4711"

RUN = {
    "2025-03-26": ("server-session-lifecycle",),
    "2025-06-18": (
        "server-initialize server-session-lifecycle ping tools-list tools-call-simple-text tools-call-error "
        "tools-call-elicitation resources-list"
    ).split(),
    "2025-11-25": (
        "server-initialize server-session-lifecycle ping tools-list tools-call-simple-text tools-call-error "
        "tools-call-elicitation resources-list server-sse-multiple-streams dns-rebinding-protection"
    ).split(),
    "2026-07-28": (
        "server-stateless caching tools-list tools-call-simple-text tools-call-error resources-list "
        "server-sse-multiple-streams dns-rebinding-protection sep-2164-resource-not-found http-header-validation "
        "input-required-result-result-type input-required-result-missing-input-response "
        "input-required-result-unsupported-methods input-required-result-validate-input"
    ).split(),
}
"""Scenarios by revision. (The suite has none for 2024-11-05.)"""
EXTENSION = (
    "tasks-lifecycle tasks-capability-negotiation tasks-wire-fields tasks-request-state-removal tasks-request-headers "
    "tasks-dispatch-and-envelope"
).split()
APART = ("tools-call-with-progress",)
"""Scenarios that need a larger budget than the others."""

NOT_OURS = {
    "sep-2549-prompts-list-caching-hints": "there are no prompts",
    "sep-2575-server-rejects-undeclared-capability": "no tool that cannot do without the client",
    "sep-2575-missing-capability-http-400": "no tool that cannot do without the client",
    "sep-2575-http-server-no-independent-requests-on-stream": "no tool of that name",
    "sep-2575-server-no-log-without-loglevel": "no logging to the client",
    "sep-2575-server-sends-subscription-ack": "no subscriptions",
    "sep-2575-server-tags-subscription-id": "no subscriptions",
    "sep-2575-server-honors-notification-filter": "no subscriptions",
    "sep-2575-server-sends-prompts-list-changed-on-subscription": "no subscriptions",
    "sep-2575-server-sends-tools-list-changed-on-subscription": "no subscriptions",
    "sep-2663-tool-error-uses-completed-status": "a command that fails is no error of the tool",
    "sep-2663-tasks-get-status-failed": "a task does not end with an error of the protocol",
    "tasks-result-type-complete-on-non-task-responses": "wants a task that asks; its other parts are in test_extension",
}
"""Checks that are left out in scenarios that are run, with the reason."""
LEFT_OUT = {
    "it is about logging to the client": "logging-set-level tools-call-with-logging",
    "it is about completion": "completion-complete",
    "it is about prompts": (
        "prompts-list prompts-get-simple prompts-get-with-args prompts-get-embedded-resource prompts-get-with-image "
        "input-required-result-non-tool-request"
    ),
    "it is about content other than text": (
        "tools-call-image tools-call-audio tools-call-embedded-resource tools-call-mixed-content"
    ),
    "it is about sampling, or roots": (
        "tools-call-sampling input-required-result-basic-sampling input-required-result-basic-list-roots"
    ),
    "it is about forms with fields; ours has none": (
        "elicitation-sep1034-defaults elicitation-sep1330-enums input-required-result-basic-elicitation "
        "input-required-result-multiple-input-requests input-required-result-multi-round "
        "input-required-result-ignore-extra-params input-required-result-capability-check"
    ),
    "they test requestState, which the server does not use": (
        "input-required-result-request-state input-required-result-tampered-state"
    ),
    "it reads resources of a reference server": "resources-read-text resources-read-binary resources-templates-read",
    "it is about subscriptions": "resources-subscribe resources-unsubscribe",
    "it is about a schema, or a header, of a reference server": (
        "json-schema-2020-12 http-custom-header-server-validation"
    ),
    "it is about streams that can be resumed": "server-sse-polling",
    "it is about tasks that ask, or tools that cannot do without one": (
        "tasks-mrtr-input tasks-mrtr-composition tasks-required-task-error"
    ),
    "the suite itself passes over it": "tasks-status-notifications",
    "it is about another extension": "sep-2640-skills-directory sep-2640-skills-enumeration sep-2640-skills-manifest",
}


def echo_call(text: str) -> dict[str, str]:
    return {"command": f"echo {shlex.quote(text)}"}


MEANT: dict[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
    "greet": lambda given: echo_call(f"Hello, {given['name']}!"),
    "slow_compute": lambda given: {"command": f"sleep {float(given['seconds'])}; echo done"},
    "failing_job": lambda given: {"command": "sleep 2; exit 1"},
    "test_simple_text": lambda given: echo_call("This is a simple text response for testing."),
    "test_error_handling": lambda given: {},
    "test_elicitation": lambda given: {"command": ASKS},
    "test_input_required_result_elicitation": lambda given: {"command": ASKS},
}


def conform(url: str, place: Path, *words: str) -> dict[str, dict[str, str]]:
    """Run the suite; return the checks that were not a success, with their messages, by scenario."""
    command = [*node("conformance/dist/index.js"), "server", "--url", url, "--output-dir", str(place), *words]
    done = subprocess.run(command, capture_output=True, timeout=240, check=False, env=environment())
    found: dict[str, dict[str, str]] = {}
    for file in place.glob("*/checks.json"):
        checks = json.loads(file.read_text())
        name = _scenario(file.parent.name)
        assert checks, name
        bad = {each["id"]: each for each in checks if each["status"] not in ("SUCCESS", "INFO")}
        found[name] = {id: f"{each['status']}: {each.get('errorMessage')}" for id, each in bad.items()}
    assert found, done.stderr.decode()
    return found


def _scenario(folder: str) -> str:
    """Return the scenario of a result folder: `server-ping-2026-11-16T12-04-13-966Z` is `ping`."""
    return folder.removeprefix("server-")[: -len("-2026-11-16T12-04-13-966Z")]


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Yield the URL of a server that has a resource."""
    task = [PYTHON, "-m", "nacre", "run", "--background", "true"]
    subprocess.run(
        task, stdout=subprocess.DEVNULL, timeout=HANG_TIMEOUT_S, check=False, cwd=tmp_path, env=environment()
    )
    with start_http_server("--budget", "0.5", cwd=tmp_path, token=TOKEN) as (url, _), proxy(url, TOKEN, MEANT) as at:
        yield at


def left_out() -> set[str]:
    return {name for names in LEFT_OUT.values() for name in names.split()}


def test_every_conformance_scenario_is_run_or_left_out_for_a_reason() -> None:
    listed = subprocess.run(
        [*node("conformance/dist/index.js"), "list"], capture_output=True, timeout=HANG_TIMEOUT_S, check=True
    )
    about_servers = listed.stdout.decode().partition("Client scenarios")[0]
    every = set(re.findall(r"^  - (\S+)", about_servers, re.MULTILINE))
    run = {*EXTENSION, *APART, *(name for names in RUN.values() for name in names)}
    assert every == run | left_out()
    assert not run & left_out()


@pytest.mark.parametrize("revision", RUN)
def test_mcp_server_conforms_to_each_protocol_revision(revision: str, address: str, tmp_path: Path) -> None:
    found = conform(address, tmp_path / "results", "--suite", "all", "--spec-version", revision)
    assert set(RUN[revision]) == set(found) - left_out() - set(APART)
    bad = {name: {id: why for id, why in found[name].items() if id not in NOT_OURS} for name in RUN[revision]}
    assert {name: why for name, why in bad.items() if why} == {}


@pytest.mark.parametrize("scenario", EXTENSION)
def test_mcp_tasks_conform_to_the_extension(scenario: str, address: str, tmp_path: Path) -> None:
    found = conform(address, tmp_path / "results", "--scenario", scenario)
    assert {id: why for id, why in found[scenario].items() if id not in NOT_OURS} == {}


def test_mcp_progress_conforms(tmp_path: Path, gate: Gate) -> None:
    """The command prints until the client has received three progress messages."""
    heard = 0

    def hear(data: bytes) -> None:
        nonlocal heard
        heard += data.count(b"notifications/progress")
        if heard >= 3:
            gate.open()

    [scenario] = APART
    command = f"until read -t 0.1 -r _ <{gate.path}; do echo more; done"
    meant = {"test_tool_with_progress": lambda given: {"command": command}}
    with start_http_server(cwd=tmp_path, token=TOKEN) as (url, _), proxy(url, TOKEN, meant, hear) as at:
        assert conform(at, tmp_path / "results", "--scenario", scenario) == {scenario: {}}
