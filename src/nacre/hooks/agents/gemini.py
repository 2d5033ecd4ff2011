"""Gemini CLI: a `BeforeTool` hook.

Contract: https://geminicli.com/docs/hooks/reference. Exit code 2 stops the call, and the model reads stderr. Hooks can
allow and deny, but not ask; when the agent itself asks and no person is there, it waits for ever.
"""

from __future__ import annotations

from nacre.hooks.agents.protocol import (
    NO_REPLY,
    BadPayload,
    HookReply,
    HookRequest,
    OtherEvent,
    command_in,
    refusal,
    refusal_text,
    tool_input,
)
from nacre.verdict import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.hooks.agents.protocol import ParsedPayload, PayloadFields
    from nacre.verdict import Verdict

NAME = "gemini"
_EVENTS = (
    "BeforeTool",
    "AfterTool",
    "BeforeAgent",
    "AfterAgent",
    "BeforeModel",
    "AfterModel",
    "BeforeToolSelection",
    "PreCompress",
)
"""Event names that no other agent has."""
_SHELLS = ("run_shell_command",)
_DIRECTORY = ("dir_path", "directory")
"""Names of the argument with the command's directory, relative to the agent's; the first is the newer name."""


def recognises(fields: PayloadFields) -> bool:
    return fields.get("hook_event_name") in _EVENTS


def read(fields: PayloadFields) -> ParsedPayload:
    event = fields["hook_event_name"]
    if event != "BeforeTool":
        return OtherEvent(str(event))
    given = tool_input(fields, _SHELLS, event)
    if isinstance(given, OtherEvent | BadPayload):
        return given
    heard = command_in(given, cwd=fields.get("cwd"), asks=False, event=event)
    for name in _DIRECTORY:
        below = given.get(name)
        if isinstance(heard, HookRequest) and below is not None:
            if not isinstance(below, str) or "\0" in below:
                return BadPayload(f"its `{name}` is not a path")
            return HookRequest(heard.command, _join_directory(heard.cwd, below), False, event)
    return heard


def _join_directory(place: str | None, below: str) -> str | None:
    if not below:
        return place
    return below if place is None or below.startswith("/") else f"{place.rstrip('/')}/{below}"


def reply(request: HookRequest, verdict: Verdict) -> HookReply:
    return NO_REPLY if verdict.decision is Decision.ALLOW else refusal(refusal_text(verdict, asks=False))


def ignore(event: OtherEvent) -> HookReply:
    return NO_REPLY


refuse = refusal
