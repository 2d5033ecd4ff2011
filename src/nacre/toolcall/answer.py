"""Answer a model's call: its arguments in, the answer in the profile's shape out."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from nacre.base.threads import beside
from nacre.environment import host_environment
from nacre.errors import InvalidRequest
from nacre.execution.finish import ending
from nacre.planning.plan import spill_name
from nacre.planning.validate import absolute
from nacre.profiles import Profile
from nacre.redact.redactor import Hidden
from nacre.result import Event
from nacre.types import Request, ToolContext

if TYPE_CHECKING:
    from nacre.views.answers import Answer

_SHORT = 4000
"""Bytes of output that are told sooner than a thread is started for it."""


async def answered(
    profile: Profile,
    arguments: Mapping[str, Any] | str,
    ctx: ToolContext,
    stream: Callable[[Request, ToolContext], AsyncGenerator[Event, None]],
) -> Answer:
    from nacre.execution.passthrough import passed_on
    from nacre.toolcall.parse import understood
    from nacre.views.answers import answer, get_ready, problem

    get_ready(profile.view)
    asked = None
    try:
        asked = understood(arguments, profile)
        events = stream if asked.capture else passed_on(stream)
        result = await ending(events(asked.request, ctx))
    except InvalidRequest as error:
        view = None if asked is None else profile.view  # what the schema forbids is no call, and has no output
        hidden = Hidden(ctx.secrets, host_environment())
        return problem(error, view, complaint=profile.tool.complaint, hidden=hidden)
    place = ctx.output_dir if ctx.spill_dir is None else ctx.spill_dir
    directory = None if place is None else absolute(place, "output_dir")
    name = spill_name(ctx.conversation_id)
    told = partial(answer, result, profile.view, directory=directory, name=name)
    return told() if result.seen < _SHORT else await beside(told)  # it may read the spill
