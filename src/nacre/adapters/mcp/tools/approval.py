"""A verdict that asks → the person at the client, by elicitation.

Two ways, as the protocol has it. Older revisions: the server sends a request in the middle of the call. Since
2026-07-28: the call is answered with the question, and the client calls again with the answer. The question then has a
name made of all that would run, so that a yes is to that and to nothing else. A client that cannot ask is not asked:
then `approve` is None, and the command is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

from mcp import MCPError
from mcp_types import (
    CallToolRequestParams,
    ClientCapabilities,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from nacre.errors import InvalidRequest
from nacre.verdict import Verdict
from nacre.views.console.approval_prompt import prompt_lines

_MESSAGE_COLUMNS = 100
_FORM: dict[str, Any] = {"type": "object", "properties": {}}
"""Nothing to fill in: to accept is to say yes."""


class Approval:
    """Whom one call can ask."""

    def __init__(self, ctx: Any, params: CallToolRequestParams) -> None:
        self._session, self._request = ctx.session, ctx.request_id
        self._modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        self._answers = params.input_responses or {}
        self._can_ask = can_ask(self._session.client_capabilities) and (self._modern or self._session.can_send_request)
        self.wanted: InputRequiredResult | None = None
        """The question that the call has to be answered with."""

    @property
    def approve(self) -> Callable[[Verdict], Awaitable[bool]] | None:
        """For `ToolContext`."""
        if not self._can_ask:
            return None
        return self._look_up if self._modern else self._ask

    async def _ask(self, verdict: Verdict) -> bool:
        try:
            said = await self._session.elicit_form(text_of(verdict), _FORM, related_request_id=self._request)
        except (MCPError, ValueError) as error:  # it says that it cannot, or nothing that makes sense
            message = f"It needs a person's word ({verdict.rule}), and the client could not ask: {error!s:.200}"
            raise InvalidRequest("not_asked", message, field="command", hint="Nothing was run.") from error
        return bool(said.action == "accept")

    async def _look_up(self, verdict: Verdict) -> bool:
        name = name_of(verdict)
        said = self._answers.get(name)
        if isinstance(said, ElicitResult):
            return bool(said.action == "accept")
        asked = ElicitRequest(params=ElicitRequestFormParams(message=text_of(verdict), requested_schema=_FORM))
        self.wanted = InputRequiredResult(input_requests={name: asked})
        return False


def can_ask(client: ClientCapabilities | None) -> bool:
    """It shows forms. One that says nothing of modes is from before there were two."""
    asks = None if client is None else client.elicitation
    return asks is not None and (asks.form is not None or asks.url is None)


def text_of(verdict: Verdict) -> str:
    """The question, with all of what would run."""
    return "\n".join([*prompt_lines(verdict, _MESSAGE_COLUMNS), "Run it?"])


def name_of(verdict: Verdict) -> str:
    """The same for the same matter, and for no other."""
    approval_request = verdict.approval_request
    given = [] if approval_request is None else [[each.label, each.text] for each in approval_request.inputs]
    about = [
        verdict.rule,
        *([] if approval_request is None else [approval_request.command, approval_request.cwd]),
        given,
    ]
    return "approve-" + hashlib.sha256(json.dumps(about).encode()).hexdigest()[:32]
