"""Cursor: a `beforeShellExecution` hook, and `preToolUse`, with which it runs hooks made for Claude Code.

Contract: https://cursor.com/docs/hooks. A hook for a permission must print JSON: no output is a failure, which stops
the command if the hook is marked `failClosed`. So "no opinion" is `"allow"`, the weakest answer when there are several
hooks: Cursor's own rules still apply after it. A refusal is JSON, whose messages reach the model and the person, with
exit code 2, which stops the command even if the JSON is ignored. "ask" is honoured only in `beforeShellExecution`: in
`preToolUse` it is accepted, and the tool runs.
"""

from __future__ import annotations

from nacre.hooks.agents.protocol import (
    EXIT_BLOCK,
    NO_REPLY,
    BadPayload,
    HookReply,
    HookRequest,
    OtherEvent,
    command_in,
    refusal_text,
    shorten_reason,
    tool_input,
)
from nacre.verdict import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.hooks.agents.protocol import ParsedPayload, PayloadFields
    from nacre.verdict import Verdict

NAME = "cursor"
_SHELLS = ("Shell", "Bash")
_PERMITS = (
    "beforeshellexecution",
    "beforemcpexecution",
    "beforereadfile",
    "beforetabfileread",
    "pretooluse",
    "subagentstart",
)
_EVENTS = ("beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "preToolUse")


def recognises(fields: PayloadFields) -> bool:
    return "cursor_version" in fields or fields.get("hook_event_name") in _EVENTS


def read(fields: PayloadFields) -> ParsedPayload:
    event = fields.get("hook_event_name")
    if not isinstance(event, str):
        return BadPayload("it does not name the event")
    if event.lower() == "beforeshellexecution":
        return command_in(fields, cwd=fields.get("cwd") or _root(fields), asks=True, event=event)
    if event.lower() != "pretooluse":
        return OtherEvent(event)
    given = tool_input(fields, _SHELLS, event)
    if isinstance(given, OtherEvent | BadPayload):
        return given
    cwd = given.get("working_directory") or fields.get("cwd") or _root(fields)
    return command_in(given, cwd=cwd, asks=False, event=event)


def _root(fields: PayloadFields) -> object:
    roots = fields.get("workspace_roots")
    return roots[0] if isinstance(roots, list) and len(roots) == 1 else None


def reply(request: HookRequest, verdict: Verdict) -> HookReply:
    if verdict.decision is Decision.ALLOW:
        return HookReply(0, out=_permission_json("allow"))
    reason = refusal_text(verdict, asks=request.asks)
    if verdict.decision is Decision.REFUSE or not request.asks:
        return refuse(reason)
    return HookReply(0, out=_permission_json("ask", reason))


def ignore(event: OtherEvent) -> HookReply:
    return HookReply(0, out=_permission_json("allow")) if event.event.lower() in _PERMITS else NO_REPLY


def refuse(reason: str) -> HookReply:
    return HookReply(EXIT_BLOCK, out=_permission_json("deny", reason), err=f"{shorten_reason(reason)}\n")


def _permission_json(permission: str, reason: str = "") -> str:
    from json import dumps

    messages = {"user_message": shorten_reason(reason), "agent_message": shorten_reason(reason)} if reason else {}
    return dumps({"permission": permission, **messages}) + "\n"
