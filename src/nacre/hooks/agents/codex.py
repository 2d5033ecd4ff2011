"""Codex: a `PreToolUse` hook.

Contract: https://developers.openai.com/codex/hooks and the schemas in `codex-rs/hooks/schema`. The payload is Claude
Code's plus `turn_id` and `model`; the tool is always called `Bash`, whichever shell tool the model has. Exit code 2
stops the call if there is a reason on stderr. There is no "ask": Codex reports it as unsupported and runs the command.
"""

from __future__ import annotations

from nacre.hooks.agents import claude_code
from nacre.hooks.agents.protocol import NO_REPLY, HookReply, HookRequest, OtherEvent, refusal, refusal_text
from nacre.verdict import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.hooks.agents.protocol import ParsedPayload, PayloadFields
    from nacre.verdict import Verdict

NAME = "codex"


def recognises(fields: PayloadFields) -> bool:
    """Return whether the payload is Codex's. In doubt it is, and not Claude Code's: then nothing is left to a
    prompt."""
    return "hook_event_name" in fields and ("turn_id" in fields or "model" in fields)


def read(fields: PayloadFields) -> ParsedPayload:
    heard = claude_code.read(fields)
    return HookRequest(heard.command, heard.cwd, False, heard.event) if isinstance(heard, HookRequest) else heard


def reply(request: HookRequest, verdict: Verdict) -> HookReply:
    return NO_REPLY if verdict.decision is Decision.ALLOW else refusal(refusal_text(verdict, asks=False))


def ignore(event: OtherEvent) -> HookReply:
    return NO_REPLY


refuse = refusal
