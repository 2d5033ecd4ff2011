"""What a hook was asked, and what it said, as a line of the audit trail. Nobody keeps one: nothing is loaded.

The fields are those of a run, as far as a hook knows them: whether the command ran, and how it ended, only the agent
does. `outcome.kind` is `passed`, `asked` or `refused`.
"""

from __future__ import annotations

import os
import time

from nacre.environment import host_environment
from nacre.observe.audit import audit_at
from nacre.observe.events import shorten_texts
from nacre.redact.redactor import Redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nacre.config.config import Config
    from nacre.hooks.agents.protocol import HookReply, HookRequest
    from nacre.verdict import Verdict


def keep_record(
    config: Config, agent: str, conversation: str, request: HookRequest, verdict: Verdict, reply: HookReply
) -> None:
    """Where the setting `audit` says. What cannot be written changes no answer."""
    trail = audit_at(config.get("audit"))
    if trail is None:
        return
    kind = "refused" if reply.code else "asked" if not verdict.allowed else "passed"
    data: dict[str, Any] = {
        "id": os.urandom(8).hex(),
        "caller": agent,
        "conversation": conversation,
        "profile": "hook",
        "command": request.command,
        "verdict": {"decision": verdict.decision.value, "rule": verdict.rule, "reason": verdict.reason},
        "plan": {"cwd": request.cwd or ""},
        "outcome": {"kind": kind},
        "duration": 0,
    }
    redactor = Redactor(config.context().secrets, host_environment())
    trail.append(time.time(), shorten_texts(redactor.mask_all(data)))
