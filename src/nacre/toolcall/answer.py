"""Answer a model's tool call: its arguments in, the answer in the profile's format out."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from nacre.base.threads import run_in_thread
from nacre.environment import host_environment
from nacre.errors import InvalidRequest
from nacre.execution.finish import collect_result
from nacre.planning.plan import file_prefix
from nacre.planning.validate import absolute
from nacre.profiles import Profile
from nacre.redact.redactor import Redactor
from nacre.result import Event
from nacre.types import Request, ToolContext

if TYPE_CHECKING:
    from nacre.views.answers import Answer

_INLINE_RENDER_MAX_BYTES = 4000
"""Smaller output renders faster than a thread starts."""


async def answer_call(
    profile: Profile,
    arguments: Mapping[str, Any] | str,
    ctx: ToolContext,
    stream: Callable[[Request, ToolContext], AsyncGenerator[Event, None]],
) -> Answer:
    """Parse and run a tool call, and return the answer in the profile's format.

    Invalid arguments become an error answer, not an exception.
    """
    from nacre.execution.passthrough import pass_through
    from nacre.toolcall.parse import parse_call
    from nacre.views.answers import answer, error_answer, preload

    preload(profile.view)
    asked = None
    try:
        asked = parse_call(arguments, profile)
        events = stream if asked.capture else pass_through(stream)
        result = await collect_result(events(asked.request, ctx))
    except InvalidRequest as error:
        view = None if asked is None else profile.view  # an invalid call has no output to view
        redactor = Redactor(ctx.secrets, host_environment())
        return error_answer(error, view, complaint=profile.tool.error_text, redactor=redactor)
    place = ctx.output_dir if ctx.spill_dir is None else ctx.spill_dir
    directory = None if place is None else absolute(place, "output_dir")
    name = file_prefix(ctx.conversation_id)
    told = partial(answer, result, profile.view, directory=directory, name=name)
    return (
        told() if result.total_bytes < _INLINE_RENDER_MAX_BYTES else await run_in_thread(told)
    )  # it may read the spill
