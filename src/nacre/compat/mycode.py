"""mycode's own interface (proposal 0028), on nacre: the executor, its task manager, streaming, the tool.

    executor = BashExecutor({"defaultTimeout": 60_000})
    output = await executor.execute({"command": "npm test"}, {"cwd": "/work"})
    async for event in executor.execute_with_streaming("npm install", cwd="/work"):
        ...

Input that the schema does not allow raises InvalidRequest; whatever happens to a command is a BashOutput.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, cast

from nacre.asked import request_from
from nacre.checking import check
from nacre.environment import host_environment
from nacre.errors import InvalidRequest, NoSuchTask
from nacre.frozen import frozen
from nacre.hidden import Hidden
from nacre.profiles.mycode import DEFAULT_CONFIG, Config, mycode
from nacre.profiles.view import Fields
from nacre.result import Chunk, Ended, Event, Result, StreamName
from nacre.schema import input_schema
from nacre.session import Session
from nacre.tasks import tools
from nacre.tasks.task import Task
from nacre.tasks.tasks import Tasks
from nacre.tool import Bash
from nacre.types import Request, StrPath, ToolContext
from nacre.views.answers import answer
from nacre.views.answers.fields import ending, exit_code, shortened
from nacre.views.answers.whole import Whole

__all__ = [
    "DEFAULT_CONFIG",
    "BashExecutor",
    "BashOutput",
    "BashTool",
    "StreamEvent",
    "TaskInfo",
    "TaskManager",
    "bash_executor",
    "bash_tool",
    "execute_with_streaming",
]


class BashOutput(TypedDict):
    """What a command gives back."""

    success: bool
    stdout: str
    stderr: str
    exit_code: int
    duration_ms: int
    truncated: NotRequired[bool]
    task_id: NotRequired[str]
    output_file: NotRequired[str]


class Safety(TypedDict):
    safe: bool
    reason: str


class StreamEvent(TypedDict):
    """`data` of stdout and stderr, as it comes; at the end the `code`."""

    type: Literal["stdout", "stderr", "exit"]
    data: NotRequired[str]
    code: NotRequired[int]


class TaskInfo(TypedDict):
    """A background command."""

    id: str
    type: Literal["bash"]
    command: str
    description: str
    pid: int | None
    outputFile: str
    startedAt: datetime
    status: Literal["running", "completed", "failed"]
    """`failed`: it ended in any other way than with exit code 0."""
    exitCode: int | None
    """None while it runs; 1 where it ended without one."""


_FEW = 3
"""Characters of a secret that give nothing away."""
Context: TypeAlias = ToolContext | Mapping[str, Any] | Session | None
"""`{"cwd": …}`; a ToolContext, for all that nacre can do; a Session, for a directory that stays."""


class TaskManager:
    """The tasks of the stores that it knows. Their keepers tell how they end; what others have started can be
    registered here, and has to be completed by whoever did."""

    def __init__(self, directory: StrPath | None = None) -> None:
        self._given = directory
        self._more: dict[str, Tasks] = {}
        self._registered: dict[str, TaskInfo] = {}

    @property
    def tasks(self) -> Tasks:
        """The first of its stores: the directory that it was given, else the user's."""
        return Tasks(self._given)

    def include(self, directory: StrPath) -> None:
        """Another store."""
        tasks = Tasks(directory)
        self._more[tasks.directory] = tasks

    def register(self, task: TaskInfo) -> None:
        """One that nacre has not started."""
        self._registered[task["id"]] = cast("TaskInfo", {"exitCode": None, **task})

    def complete(self, id: str, code: int) -> None:
        """One that was registered has ended. What nacre has started needs nobody to say so."""
        known = self._registered.get(id)
        if known is None:
            self.get(id)
            return
        known["status"], known["exitCode"] = "failed" if code else "completed", code

    def get(self, id: str) -> TaskInfo:
        """NoSuchTask: nobody has started it."""
        return self._registered[id] if id in self._registered else _info(self._home(id).get(id))

    def list(self) -> builtins.list[TaskInfo]:
        """Every one, the oldest first."""
        found = [_info(task) for tasks in self._stores() for task in tasks.list() if task.outcome is not None]
        return sorted([*found, *self._registered.values()], key=lambda info: info["startedAt"])

    async def listing(self, *, all: bool = True) -> str:
        """What `/tasks` shows."""
        texts = [await tools.call("TaskList", {"all": all}, tasks) for tasks in self._stores() if tasks.list(all=all)]
        return "\n".join(texts) or "There are no tasks."

    async def task_output(self, arguments: Mapping[str, Any]) -> str:
        """What the TaskOutput tool answers; its definition is in `nacre.tasks.tools.definitions()`."""
        id = arguments.get("task_id")
        return await tools.call("TaskOutput", arguments, self._home(id) if isinstance(id, str) else self.tasks)

    def _stores(self) -> builtins.list[Tasks]:
        first = self.tasks
        return [first, *(tasks for place, tasks in self._more.items() if place != first.directory)]

    def _home(self, id: str) -> Tasks:
        """The store that has it; the first, if none does."""
        for tasks in self._stores():
            try:
                tasks.get(id)
            except NoSuchTask:
                continue
            return tasks
        return self.tasks


def _info(task: Task) -> TaskInfo:
    named = os.path.join(task.directory, f"mycode-{task.id}.log")
    code = None if task.alive else 1 if task.exit_code is None else task.exit_code
    return {
        "id": task.id,
        "type": "bash",
        "command": task.command,
        "description": task.description,
        "pid": task.pid,
        "outputFile": named if os.path.lexists(named) else task.output_file,
        "startedAt": datetime.fromtimestamp(task.created, UTC),
        "status": "running" if code is None else "failed" if code else "completed",
        "exitCode": code,
    }


class BashExecutor:
    """Runs commands as the proposal has it. One serves any number of conversations."""

    def __init__(self, config: Config | None = None, *, literal: bool = False) -> None:
        """`config`: a part of it is enough. `literal`: see `nacre.profiles.mycode`."""
        self.profile = mycode(literal=literal, **(config or {}))
        self.bash = Bash(self.profile)
        self.task_manager = TaskManager()

    async def execute(self, input: Mapping[str, Any], context: Context = None) -> BashOutput:
        """InvalidRequest: the input is not what the schema says."""
        request = request_from(input, self.profile)
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
        request = request_from(given, self.profile)
        hidden = Hidden(_context(context).secrets, host_environment())
        pieces: dict[StreamName, _Pieces] = {"stdout": _Pieces(hidden), "stderr": _Pieces(hidden)}
        async with aclosing(self._stream(request, context)) as events:
            async for event in events:
                if isinstance(event, Chunk):
                    if text := pieces[event.stream].shown(event.text):
                        yield {"type": event.stream, "data": text}
                elif isinstance(event, Ended):
                    if said := ending(event.result):
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
        return shortened(Whole(text), view.limit)[0]

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


class _Pieces:
    """A text in pieces, with secrets masked: what may be the beginning of one waits for the next piece."""

    def __init__(self, hidden: Hidden) -> None:
        self._hidden = hidden
        self._held = ""
        self._in_line = False

    def shown(self, text: str) -> str:
        text = self._held + text
        begun = max((_overlap(text, value) for value in self._hidden.values()), default=0)
        text, self._held = text[: len(text) - begun], text[len(text) - begun :]
        self._in_line = not text.endswith("\n")
        return self._hidden.mask(text)

    def add_line(self, line: str) -> None:
        """After all else."""
        self._held += "\n" * (self._in_line or self._held != "") + line

    def last(self) -> str:
        return self._hidden.mask(self._held)


def _overlap(text: str, value: str) -> int:
    """Characters at the end of the text that begin the value; a few say nothing."""
    lengths = range(min(len(value) - 1, len(text)), _FEW, -1)
    return next((count for count in lengths if text.endswith(value[:count])), 0)


@frozen
class BashTool:
    """The tool as a model's API takes it, and what to call."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON schema."""
    execute: Callable[..., Awaitable[BashOutput]]


bash_executor = BashExecutor()
"""With the proposal's own configuration."""
bash_tool = bash_executor.tool()
execute_with_streaming = bash_executor.execute_with_streaming
