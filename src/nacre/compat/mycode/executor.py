"""The executor: input as the schema has it in, a BashOutput out."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, TypeAlias, cast

from nacre.approval.check import check
from nacre.base.frozen import frozen
from nacre.bash import Bash
from nacre.compat.mycode.masked_stream import MaskedStream
from nacre.compat.mycode.tasks import TaskManager
from nacre.compat.mycode.types import BashOutput, Safety, StreamEvent
from nacre.engines import LOCAL, Engine
from nacre.environment import host_environment, login_environment
from nacre.errors import InvalidRequest
from nacre.planning.plan import redactor_for
from nacre.profiles.answer_format import Fields
from nacre.profiles.mycode import MycodeConfig, mycode
from nacre.result import Chunk, Ended, Event, Result, StreamName
from nacre.session import Session
from nacre.toolcall.parse import parse_request
from nacre.toolcall.schema import input_schema
from nacre.types import Request, StrPath, ToolContext
from nacre.views.answers import answer
from nacre.views.answers.json_object import describe_end, exit_code, shorten_stream
from nacre.views.answers.stream_text import StreamText

Context: TypeAlias = ToolContext | Mapping[str, Any] | Session | None
"""`{"cwd": …}`; a ToolContext, for all that nacre can do; a Session, for a directory that stays."""


@frozen
class BashTool:
    """The tool as a model's API takes it, and what to call."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON schema."""
    execute: Callable[..., Awaitable[BashOutput]]


class BashExecutor:
    """Runs commands as the proposal has it. One serves any number of conversations."""

    def __init__(self, config: MycodeConfig | None = None, *, literal: bool = False, engine: Engine = LOCAL) -> None:
        """`config`: a part of it is enough. `literal`: see `nacre.profiles.mycode`. `engine`: where commands run; for
        `sandboxMode="container"`, `nacre.engines.Containers`."""
        self.profile = mycode(literal=literal, **(config or {}))
        self.bash = Bash(self.profile, engine=engine)
        self.task_manager = TaskManager()

    async def execute(self, input: Mapping[str, Any], context: Context = None) -> BashOutput:
        """InvalidRequest: the input is not what the schema says."""
        request = parse_request(input, self.profile)
        try:
            result = await self._run(request, context)
        except InvalidRequest as error:  # a directory that is not there, a sandbox that this kernel cannot make
            return {"success": False, "stdout": "", "stderr": str(error), "exit_code": 1, "duration_ms": 0}
        return cast("BashOutput", dict(answer(result, self.profile.view).data))

    async def execute_with_streaming(
        self,
        command: str,
        *,
        description: str | None = None,
        timeout: float | None = None,
        cwd: StrPath | None = None,
        env: Mapping[str, str] | None = None,
        context: Context = None,
    ) -> AsyncGenerator[StreamEvent, None]:
        """What it writes, while it runs, and its exit code at the end. Whoever stops listening ends it."""
        place = None if cwd is None else os.fspath(cwd)
        given = {"command": command, "description": description, "timeout": timeout, "cwd": place, "env": env}
        request = parse_request(given, self.profile)
        ctx = _context(context)
        redactor = redactor_for(request, ctx, login_environment() if ctx.login_env else host_environment())
        pieces: dict[StreamName, MaskedStream] = {"stdout": MaskedStream(redactor), "stderr": MaskedStream(redactor)}
        async with aclosing(self._stream(request, context)) as events:
            async for event in events:
                if isinstance(event, Chunk):
                    if text := pieces[event.stream].mask_next(event.text):
                        yield {"type": event.stream, "data": text}
                elif isinstance(event, Ended):
                    if said := describe_end(event.result):
                        pieces["stderr"].add_line(said)
                    for stream, rest in pieces.items():
                        if text := rest.last():
                            yield {"type": stream, "data": text}
                    yield {"type": "exit", "code": exit_code(event.result)}

    def check_safety(self, command: str, *, cwd: StrPath | None = None) -> Safety:
        """Whether it would be run, and if not, why."""
        verdict = check(command, cwd=cwd, policy=self.profile.policy)
        return {"safe": verdict.allowed, "reason": verdict.what}

    def truncate(self, text: str) -> str:
        view = self.profile.view
        assert isinstance(view, Fields)
        return shorten_stream(StreamText(text), view.limit)[0]

    def session(self, context: Context = None) -> Session:
        """For a conversation whose directory and exported variables stay: pass it as the context of each call."""
        return Session(self.bash, _context(context))

    def tool(self, context: Context = None) -> BashTool:
        """For a model. With a context, or in a sandbox, the description says what commands may do."""
        tool, limits = self.profile.tool, ""
        if context is not None or self.profile.access != "unrestricted":
            limits = self.bash.constraints(_context(context))
        return BashTool(tool.name, f"{tool.description}\n{limits}".strip(), input_schema(tool), self.execute)

    async def _run(self, request: Request, context: Context) -> Result:
        async with aclosing(self._stream(request, context)) as events:
            results = [event.result async for event in events if isinstance(event, Ended)]
        return results[0]

    def _stream(self, request: Request, context: Context) -> AsyncGenerator[Event, None]:
        ctx = _context(context)
        if ctx.output_dir is not None:
            self.task_manager.include(ctx.output_dir)
        return context.stream(request) if isinstance(context, Session) else self.bash.stream(request, ctx)


def _context(context: Context) -> ToolContext:
    match context:
        case ToolContext():
            return context
        case Session():
            return context.context
        case _:
            return ToolContext(working_dir=(context or {}).get("cwd"))
