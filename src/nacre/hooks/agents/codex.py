"""Codex: a `PreToolUse` hook.

Contract: https://developers.openai.com/codex/hooks and the schemas in `codex-rs/hooks/schema`. What it sends looks like
Claude Code's, with `turn_id` and `model` beside it; the tool is called `Bash` whatever shell tool the model has. Exit 2
stops the call, if there is a reason on stderr. There is no "ask": Codex reports it as unsupported, and runs the
command.
"""

from __future__ import annotations

from nacre.hooks.agents import claude_code
from nacre.hooks.agents.protocol import NOTHING, Asked, NotOurs, Reply, because, refusal
from nacre.verdict import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.hooks.agents.protocol import Fields, Heard
    from nacre.verdict import Verdict

NAME = "codex"


def speaks(fields: Fields) -> bool:
    """In doubt it is Codex, not Claude Code: here nothing is left to a question."""
    return "hook_event_name" in fields and ("turn_id" in fields or "model" in fields)


def read(fields: Fields) -> Heard:
    heard = claude_code.read(fields)
    return Asked(heard.command, heard.cwd, False, heard.event) if isinstance(heard, Asked) else heard


def reply(asked: Asked, verdict: Verdict) -> Reply:
    return NOTHING if verdict.decision is Decision.ALLOW else refusal(because(verdict, asks=False))


def unconcerned(event: NotOurs) -> Reply:
    return NOTHING


refuse = refusal
