"""Cursor: a `beforeShellExecution` hook; `preToolUse` too, which is how it runs hooks that were made for Claude Code.

Contract: https://cursor.com/docs/hooks. A hook that may permit has to say JSON: no output is a failure, which stops the
command where the hook is marked `failClosed`. So no opinion is `"allow"`, the weakest of what several hooks may say:
Cursor's own rules still apply after it. A refusal is JSON, whose messages reach the model and the person, with exit 2,
which stops the command whatever becomes of the JSON. "ask" is kept in `beforeShellExecution` alone: in `preToolUse` it
is accepted, and the tool runs.
"""

from __future__ import annotations

from nacre.hooks.agents.protocol import NOTHING, REFUSE, Asked, Bad, NotOurs, Reply, because, called, command_in, short
from nacre.verdict import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.hooks.agents.protocol import Fields, Heard
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


def speaks(fields: Fields) -> bool:
    return "cursor_version" in fields or fields.get("hook_event_name") in _EVENTS


def read(fields: Fields) -> Heard:
    event = fields.get("hook_event_name")
    if not isinstance(event, str):
        return Bad("it does not say what happens")
    if event.lower() == "beforeshellexecution":
        return command_in(fields, cwd=fields.get("cwd") or _root(fields), asks=True, event=event)
    if event.lower() != "pretooluse":
        return NotOurs(event)
    given = called(fields, _SHELLS, event)
    if isinstance(given, NotOurs | Bad):
        return given
    cwd = given.get("working_directory") or fields.get("cwd") or _root(fields)
    return command_in(given, cwd=cwd, asks=False, event=event)


def _root(fields: Fields) -> object:
    roots = fields.get("workspace_roots")
    return roots[0] if isinstance(roots, list) and len(roots) == 1 else None


def reply(asked: Asked, verdict: Verdict) -> Reply:
    if verdict.decision is Decision.ALLOW:
        return Reply(0, out=_said("allow"))
    reason = because(verdict, asks=asked.asks)
    if verdict.decision is Decision.REFUSE or not asked.asks:
        return refuse(reason)
    return Reply(0, out=_said("ask", reason))


def unconcerned(event: NotOurs) -> Reply:
    return Reply(0, out=_said("allow")) if event.event.lower() in _PERMITS else NOTHING


def refuse(reason: str) -> Reply:
    return Reply(REFUSE, out=_said("deny", reason), err=f"{short(reason)}\n")


def _said(permission: str, reason: str = "") -> str:
    from json import dumps

    messages = {"user_message": short(reason), "agent_message": short(reason)} if reason else {}
    return dumps({"permission": permission, **messages}) + "\n"
