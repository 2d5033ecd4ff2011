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
        (b"{", "it is not valid JSON"),
        (b"ls -la", "it is not valid JSON"),
        (b'{"timeout": NaN}', "it is not valid JSON (NaN"),
        (b"[]", "it is not a JSON object"),
        (b'"ls"', "it is not a JSON object"),
        (b"null", "it is not a JSON object"),
        (b"\xff\xfe{}", "it is not UTF-8"),
        (b"\xef\xbb\xbf{}", "it is not valid JSON"),
        (json.dumps(GOOD).encode("utf-16"), "it is not UTF-8"),
        (json.dumps(GOOD).encode() + b"\0", "it is not valid JSON"),
        (json.dumps(GOOD).encode() * 2, "it is not valid JSON"),
        (b"[" * 200_000, "it is nested too deeply"),
        (b'{"a":' * 100_000, "it is nested too deeply"),
        (b'{"hook_event_name":"PostToolUse","hook_event_name":"PreToolUse"}', "it contains 'hook_event_name' twice"),
        (b'{"tool_input":{"command":"ls","command":"rm -rf /"}}', "it contains 'command' twice"),
        (b" " * (MAX_PAYLOAD_BYTES + 1), "it is larger than 16 MiB"),
    ],
)
def test_invalid_hook_payload_is_refused_with_the_reason(payload: bytes, why: str) -> None:
    reply = answer(payload)
    assert (reply.code, reply.out) == (2, "")
    assert why in reply.err


@pytest.mark.parametrize("fields", [{}, {"command": "ls"}, {"hook_event_name": "PreToolUse"}, {"tool_name": "Bash"}])
def test_payload_of_an_unknown_agent_is_refused(fields: dict[str, str]) -> None:
    reply = answer(json.dumps(fields).encode())
    assert reply.code == 2
    assert reply.err.startswith("nacre hook does not recognise the agent.")


@pytest.mark.parametrize("event", ["BeforeShellExecution", "beforeshellexecution"])
def test_cursor_event_in_another_case_is_still_checked(event: str) -> None:
    payload = {**payload_of("cursor", "refused"), "hook_event_name": event}
    assert answer(json.dumps(payload).encode()).code == 2


@pytest.mark.parametrize("agent", FIXTURES)
def test_checker_error_is_a_refusal_in_the_format_of_the_agent(agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(asked: HookRequest, config: Config | None) -> Verdict:
        raise ValueError("broken")

    monkeypatch.setattr(module, "check_command", judge)
    reply = answer(json.dumps(payload_of(agent, "no opinion")).encode())
    assert (reply.code, reply.err) == (2, "nacre hook failed (ValueError: broken), so the command is refused.\n")
    assert bool(reply.out) == (agent == "cursor")


@pytest.mark.parametrize("command", ["rm -rf / '\x1b[2J\x07'", "rm -rf / '\u202e'", "rm -rf / \udcff\ud800"])
def test_hook_reason_contains_no_control_characters(command: str) -> None:
    payload = {**GOOD, "tool_input": {"command": command}}
    reply = answer(json.dumps(payload).encode())
    assert reply.code == 2
    assert reply.err[:-1].isprintable()
    reply.err.encode()


def test_hook_reason_for_a_huge_command_is_short() -> None:
    payload = {**GOOD, "tool_input": {"command": "rm -rf / " + "x" * 100_000}}
    reply = answer(json.dumps(payload).encode())
    assert reply.code == 2
    assert len(reply.err) <= MAX_REASON_CHARS + 1


@pytest.mark.parametrize("agent", FIXTURES)
def test_hook_refuses_a_command_longer_than_256_kib(agent: str) -> None:
    text = json.dumps(payload_of(agent, "no opinion")).replace("npm test", "a;" * 2_000_000)
    reply = answer(text.encode())
    assert reply.code == 2
    assert "its `command` is longer than 256 KiB" in reply.err


@given(st.binary(max_size=200))
def test_any_invalid_bytes_are_refused_with_a_message(payload: bytes) -> None:
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
def test_any_altered_payload_gets_a_valid_answer(agent: str, data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(FIXTURES[agent]["cases"]))
    payload = dict(case["payload"])
    for name in data.draw(st.lists(st.sampled_from(sorted(payload)), max_size=3)):
        payload[name] = data.draw(ANYTHING)
    reply = answer(json.dumps(payload).encode())
    assert reply.code in (0, 2)
    assert reply.code == 0 or reply.err.strip()
    if reply.out:
        json.loads(reply.out)
