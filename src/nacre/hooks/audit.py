"""Records each request of a hook and its answer in the audit trail. Loaded only if the user keeps one.

The fields are those of a run, as far as a hook knows them: only the agent knows whether the command ran, and its exit
status. `outcome.kind` is `passed`, `asked` or `refused`.
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
    """Append a record to the file that the setting `audit` names. A failed write does not change the answer."""
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
