"""Asks the person at the client for approval, by elicitation.

The protocol has two ways. In older revisions, the server sends a request during the call. Since 2026-07-28, the call
returns the question, and the client repeats the call with the answer. The question's name is then derived from
everything that would run, so that an approval applies to exactly that. For a client without elicitation, `approve` is
None, and the command is refused.
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
"""An empty form: accepting it approves."""


class Approval:
    """The approval prompt of one call."""

    def __init__(self, ctx: Any, params: CallToolRequestParams) -> None:
        self._session, self._request = ctx.session, ctx.request_id
        self._modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        self._answers = params.input_responses or {}
        self._can_ask = can_ask(self._session.client_capabilities) and (self._modern or self._session.can_send_request)
        self.wanted: InputRequiredResult | None = None
        """The question to return instead of a result."""

    @property
    def approve(self) -> Callable[[Verdict], Awaitable[bool]] | None:
        """The function for `ToolContext.approve`; None if the client cannot prompt."""
        if not self._can_ask:
            return None
        return self._look_up if self._modern else self._ask

    async def _ask(self, verdict: Verdict) -> bool:
        try:
            said = await self._session.elicit_form(text_of(verdict), _FORM, related_request_id=self._request)
        except (MCPError, ValueError) as error:  # the client reports an error, or sends an invalid answer
            message = f"It needs approval ({verdict.rule}), and the client could not ask: {error!s:.200}"
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
    """Return whether the client shows forms. One that lists no modes is older than the two modes, and does."""
    asks = None if client is None else client.elicitation
    return asks is not None and (asks.form is not None or asks.url is None)


def text_of(verdict: Verdict) -> str:
    """Return the question, with everything that would run."""
    return "\n".join([*prompt_lines(verdict, _MESSAGE_COLUMNS), "Run it?"])


def name_of(verdict: Verdict) -> str:
    """Return a name that is equal exactly for equal commands, directories, inputs and rules."""
    approval_request = verdict.approval_request
    given = [] if approval_request is None else [[each.label, each.text] for each in approval_request.inputs]
    about = [
        verdict.rule,
        *([] if approval_request is None else [approval_request.command, approval_request.cwd]),
        given,
    ]
    return "approve-" + hashlib.sha256(json.dumps(about).encode()).hexdigest()[:32]
