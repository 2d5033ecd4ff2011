"""Claude Code: a `PreToolUse` hook.

Contract: https://code.claude.com/docs/en/hooks. Exit 2 stops the call, and Claude reads stderr. `ask` is said in JSON,
with exit 0; whether anybody is asked depends on the permission mode (see `_ASKS`). A refusal is never said in JSON:
versions of the agent have passed over it where a permission rule allowed the call, and none has passed over exit 2.
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

NAME = "claude-code"
_SHELLS = ("Bash", "Monitor")
"""`Monitor` runs a command too, and hands out what it prints."""
_ASKS = ("default", "acceptEdits", "plan")
"""Modes in which a person is there to be asked. In the others (`bypassPermissions`, `auto`, `dontAsk`) versions of the
agent have taken "ask" for "run it". Without a person, in `claude -p`, the agent refuses by itself."""


def recognises(fields: PayloadFields) -> bool:
    """Codex sends the same, and more: it has to be asked first."""
    return "hook_event_name" in fields and "session_id" in fields


def read(fields: PayloadFields) -> ParsedPayload:
    event = fields["hook_event_name"]
    if not isinstance(event, str):
        return BadPayload("it does not say what happens")
    if event != "PreToolUse":
        return OtherEvent(event)
    given = tool_input(fields, _SHELLS, event)
    if isinstance(given, OtherEvent | BadPayload):
        return given
    if fields["tool_name"] == "Monitor" and "command" not in given:
        return OtherEvent(event)  # it listens to a socket
    asks = fields.get("permission_mode") in _ASKS
    return command_in(given, cwd=fields.get("cwd"), asks=asks, event=event)


def reply(request: HookRequest, verdict: Verdict) -> HookReply:
    if verdict.decision is Decision.ALLOW:
        return NO_REPLY
    reason = refusal_text(verdict, asks=request.asks)
    if verdict.decision is Decision.REFUSE or not request.asks:
        return refusal(reason)
    from json import dumps

    said = {"hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": reason}
    return HookReply(0, out=dumps({"hookSpecificOutput": said}) + "\n")


def ignore(event: OtherEvent) -> HookReply:
    return NO_REPLY


refuse = refusal
