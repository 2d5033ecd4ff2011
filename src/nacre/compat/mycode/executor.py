"""The executor: input according to the schema in, a BashOutput out."""

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
"""`{"cwd": …}`; a ToolContext, for all options of nacre; or a Session, which keeps its directory between calls."""


@frozen
class BashTool:
    """The tool definition for a model's API, and the function to call."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON schema."""
    execute: Callable[..., Awaitable[BashOutput]]


class BashExecutor:
    """Run commands as specified in the proposal. One instance serves any number of conversations."""

    def __init__(self, config: MycodeConfig | None = None, *, literal: bool = False, engine: Engine = LOCAL) -> None:
        """Create an executor.

        `config` may be partial. `literal`: see `nacre.profiles.mycode`. `engine` decides where commands run; for
        `sandboxMode="container"`, use `nacre.engines.Containers`.
        """
        self.profile = mycode(literal=literal, **(config or {}))
        self.bash = Bash(self.profile, engine=engine)
        self.task_manager = TaskManager()

    async def execute(self, input: Mapping[str, Any], context: Context = None) -> BashOutput:
        """Run a command and return its output. Raise InvalidRequest if the input violates the schema."""
        request = parse_request(input, self.profile)
        try:
            result = await self._run(request, context)
        except InvalidRequest as error:  # the directory does not exist, or this kernel cannot make the sandbox
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
        """Yield the output of a command while it runs, and its exit status at the end. Closing the generator kills
        it."""
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
        """Return whether the policy allows the command, and if not, why."""
        verdict = check(command, cwd=cwd, policy=self.profile.policy)
        return {"safe": verdict.allowed, "reason": verdict.what}

    def truncate(self, text: str) -> str:
        """Shorten a text to the output limit of the profile."""
        view = self.profile.view
        assert isinstance(view, Fields)
        return shorten_stream(StreamText(text), view.limit)[0]

    def session(self, context: Context = None) -> Session:
        """Return a session that keeps its directory and exported variables: pass it as the context of each call."""
        return Session(self.bash, _context(context))

    def tool(self, context: Context = None) -> BashTool:
        """Return the tool for a model. With a context, or in a sandbox, its description states what commands may do."""
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
