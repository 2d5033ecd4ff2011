"""Claude Code: a `PreToolUse` hook.

Contract: https://code.claude.com/docs/en/hooks. Exit code 2 stops the call, and Claude reads stderr. `ask` is JSON with
exit code 0; whether a person is prompted depends on the permission mode (see `_ASKS`). A refusal is never sent as JSON:
versions of the agent have ignored that where a permission rule allowed the call, and none has ignored exit code 2.
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
"""`Monitor` runs a command too, and returns its output."""
_ASKS = ("default", "acceptEdits", "plan")
"""Permission modes in which a person is there to be prompted. In the others (`bypassPermissions`, `auto`, `dontAsk`)
versions of the agent have taken "ask" for "run it". Without a person, in `claude -p`, the agent itself refuses."""


def recognises(fields: PayloadFields) -> bool:
    """Return whether the payload may be Claude Code's. Codex sends the same fields and more, so try `codex` first."""
    return "hook_event_name" in fields and "session_id" in fields


def read(fields: PayloadFields) -> ParsedPayload:
    event = fields["hook_event_name"]
    if not isinstance(event, str):
        return BadPayload("it does not name the event")
    if event != "PreToolUse":
        return OtherEvent(event)
    given = tool_input(fields, _SHELLS, event)
    if isinstance(given, OtherEvent | BadPayload):
        return given
    if fields["tool_name"] == "Monitor" and "command" not in given:
        return OtherEvent(event)  # it listens to a socket instead of running a command
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
