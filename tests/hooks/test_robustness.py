"""Hooks answer any input, and refuse what they cannot parse."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.config.config import Config
from nacre.hooks import handle as module
from nacre.hooks.agents.protocol import MAX_REASON_CHARS, HookRequest
from nacre.hooks.handle import MAX_PAYLOAD_BYTES, answer
from nacre.verdict import Verdict
from tests.hooks.fixtures import FIXTURES, payload_of

GOOD = payload_of("claude-code", "no opinion")


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b"", "it is empty"),
        (b" \n\t", "it is empty"),
        (b"{", "it is no JSON"),
        (b"ls -la", "it is no JSON"),
        (b'{"timeout": NaN}', "it is no JSON (NaN"),
        (b"[]", "it is no JSON object"),
        (b'"ls"', "it is no JSON object"),
        (b"null", "it is no JSON object"),
        (b"\xff\xfe{}", "it is not UTF-8"),
        (b"\xef\xbb\xbf{}", "it is no JSON"),
        (json.dumps(GOOD).encode("utf-16"), "it is not UTF-8"),
        (json.dumps(GOOD).encode() + b"\0", "it is no JSON"),
        (json.dumps(GOOD).encode() * 2, "it is no JSON"),
        (b"[" * 200_000, "it is nested too deep"),
        (b'{"a":' * 100_000, "it is nested too deep"),
        (b'{"hook_event_name":"PostToolUse","hook_event_name":"PreToolUse"}', "it says 'hook_event_name' twice"),
        (b'{"tool_input":{"command":"ls","command":"rm -rf /"}}', "it says 'command' twice"),
        (b" " * (MAX_PAYLOAD_BYTES + 1), "it is larger than 16 MiB"),
    ],
)
def test_what_cannot_be_read_is_refused(payload: bytes, why: str) -> None:
    reply = answer(payload)
    assert (reply.code, reply.out) == (2, "")
    assert why in reply.err


@pytest.mark.parametrize("fields", [{}, {"command": "ls"}, {"hook_event_name": "PreToolUse"}, {"tool_name": "Bash"}])
def test_an_agent_that_is_not_known_is_refused(fields: dict[str, str]) -> None:
    reply = answer(json.dumps(fields).encode())
    assert reply.code == 2
    assert reply.err.startswith("nacre hook does not know which agent this is.")


@pytest.mark.parametrize("event", ["BeforeShellExecution", "beforeshellexecution"])
def test_an_event_of_cursors_is_not_let_pass_for_its_spelling(event: str) -> None:
    payload = {**payload_of("cursor", "refused"), "hook_event_name": event}
    assert answer(json.dumps(payload).encode()).code == 2


@pytest.mark.parametrize("agent", FIXTURES)
def test_a_checker_that_fails_refuses_in_the_dialect(agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(asked: HookRequest, config: Config | None) -> Verdict:
        raise ValueError("no luck")

    monkeypatch.setattr(module, "check_command", judge)
    reply = answer(json.dumps(payload_of(agent, "no opinion")).encode())
    assert (reply.code, reply.err) == (2, "nacre hook failed (ValueError: no luck), so the command is refused.\n")
    assert bool(reply.out) == (agent == "cursor")


@pytest.mark.parametrize("command", ["rm -rf / '\x1b[2J\x07'", "rm -rf / '\u202e'", "rm -rf / \udcff\ud800"])
def test_what_a_command_holds_commands_no_terminal(command: str) -> None:
    payload = {**GOOD, "tool_input": {"command": command}}
    reply = answer(json.dumps(payload).encode())
    assert reply.code == 2
    assert reply.err[:-1].isprintable()
    reply.err.encode()


def test_a_reason_stays_short_however_long_the_command() -> None:
    payload = {**GOOD, "tool_input": {"command": "rm -rf / " + "x" * 100_000}}
    reply = answer(json.dumps(payload).encode())
    assert reply.code == 2
    assert len(reply.err) <= MAX_REASON_CHARS + 1


@pytest.mark.parametrize("agent", FIXTURES)
def test_a_command_that_no_shell_is_given_is_not_read(agent: str) -> None:
    text = json.dumps(payload_of(agent, "no opinion")).replace("npm test", "a;" * 2_000_000)
    reply = answer(text.encode())
    assert reply.code == 2
    assert "its `command` is longer than 256 KiB" in reply.err


@given(st.binary(max_size=200))
def test_any_bytes_are_answered(payload: bytes) -> None:
    reply = answer(payload)
    assert reply.code == 2
    assert reply.err.strip()


ANYTHING = st.recursive(
    st.sampled_from([None, True, 0, -1.5, "", "Bash", "PreToolUse", "/", "ls", "\0", "\ud800", "rm -rf /"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["command", "x"]), inner, max_size=2),
    max_leaves=3,
)


@pytest.mark.parametrize("agent", FIXTURES)
@given(data=st.data())
def test_any_payload_is_answered(agent: str, data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(FIXTURES[agent]["cases"]))
    payload = dict(case["payload"])
    for name in data.draw(st.lists(st.sampled_from(sorted(payload)), max_size=3)):
        payload[name] = data.draw(ANYTHING)
    reply = answer(json.dumps(payload).encode())
    assert reply.code in (0, 2)
    assert reply.code == 0 or reply.err.strip()
    if reply.out:
        json.loads(reply.out)
