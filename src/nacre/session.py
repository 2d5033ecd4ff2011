"""Session: working directory and exported environment carry over from call to call.

Each call still starts a fresh shell. When the shell exits, it writes its working directory and environment to a memory
file that only this process holds. Differences from the environment it was given are kept and applied to the next call.
A shell that cannot write them (killed, replaced by `exec`) leaves the session unchanged. The `cwd` and `env` of a
request apply to that call only.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from nacre.base.frozen import replace
from nacre.bash import Bash, RunHooks
from nacre.environment import deferred_names
from nacre.errors import InvalidRequest
from nacre.execution.exit_state import open_state_file, read_exit_state
from nacre.execution.finish import collect_result
from nacre.execution.limiter import RunLimiter
from nacre.keeper.client.connection import is_in_private_directory
from nacre.keeper.protocol.procfs import TAG_VARIABLE
from nacre.planning.paths import current_directory
from nacre.planning.pipestatus import can_report_pipestatus
from nacre.result import Ended, Event, Exited, Result, Running
from nacre.toolcall.answer import answer_call
from nacre.types import Plan, Request, ToolContext

if TYPE_CHECKING:
    from nacre.views.answers import Answer

_PER_RUN_VARIABLES = frozenset({"_", "PWD", "SHLVL", TAG_VARIABLE})
"""Variables that bash and the keeper set for each shell."""
_STILL_RUNNING_NOTE = "The session is unchanged: a command that keeps running as a task does not change it."
_STATE_UNKNOWN_NOTE = (
    "The shell did not report its directory and variables (`exec`, or `exit` with a trap on EXIT): "
    "the session is unchanged."
)
_VARIABLES_UNKNOWN_NOTE = "The shell could not report all its variables: those of the session are unchanged."


class Session:
    """A conversation: working directory and environment persist between calls. Calls run one after another."""

    def __init__(
        self,
        bash: Bash | None = None,
        ctx: ToolContext | None = None,
        *,
        cwd: str | None = None,
        changes: Mapping[str, str | None] | None = None,
    ) -> None:
        """Create a session.

        `bash`: runs the commands; default `Bash()`. `ctx`: context of every call, except for the working directory.
        `cwd`: initial directory; default: the context's `working_dir`, else the engine's. `changes`: initial
        `env_changes`, as saved from an earlier session.
        """
        self._bash = bash or Bash()
        self._ctx = ctx or ToolContext()
        if not self._bash.engine.is_local and not self._ctx.conversation_id:
            own = f"session-{os.urandom(4).hex()}"  # engines keep state per conversation id; share none
            self._ctx = replace(self._ctx, conversation_id=own)
        self._env_changes = dict(changes or {})
        self._limiter = RunLimiter(1)
        home = self._ctx.working_dir or self._home()
        self._workspace = os.path.abspath(self._ctx.workspace or home)
        """Fixed, while `cwd` follows the commands."""
        self.cwd = os.path.abspath(cwd or home)
        """Absolute path of the directory in which the next command starts."""

    def _home(self) -> str:
        """Return the default working directory."""
        return (
            current_directory()
            if self._bash.engine.is_local
            else self._bash.engine.directory(Request("true"), self._ctx)
        )

    @property
    def context(self) -> ToolContext:
        """Context of the calls; each gets the session's current directory in addition."""
        return self._ctx

    @property
    def env_changes(self) -> Mapping[str, str | None]:
        """Variables that commands have exported so far; None for those they have unset."""
        return MappingProxyType(self._env_changes)

    async def run(self, request: Request | str) -> Result:
        """Run a command in the session's directory and environment; return its result. Raises InvalidRequest for a
        request that cannot be run, and what else `Bash.run` raises."""
        return await collect_result(self.stream(request))

    async def call(self, arguments: Mapping[str, Any] | str) -> Answer:
        """Run one tool call of a model, as `Bash.call` does, and return the answer. `arguments`: an object or its JSON.
        An invalid call is an answer, not an exception."""
        return await answer_call(self._bash.profile, arguments, self._ctx, lambda request, _: self.stream(request))

    async def stream(self, request: Request | str) -> AsyncGenerator[Event, None]:
        """Run a command and yield its events, as `Bash.stream` does. The session is updated before the last one. Raises
        the same exceptions as `run`."""
        request = Request(request) if isinstance(request, str) else request
        async with self._limiter.slot():
            with open_state_file() as state:
                notes = self._ensure_directory("this command ran")
                given: dict[str, str] = {}

                def prepare(plan: Plan) -> Plan:
                    plan = self._carry_over(plan)
                    given.update(plan.env)
                    return plan

                ctx = replace(self._ctx, working_dir=self.cwd, workspace=self._workspace)
                hooks = RunHooks(prepare=prepare, state=state)
                async with aclosing(self._bash.run_events(request, ctx, hooks)) as events:
                    async for event in events:
                        if isinstance(event, Ended):
                            notes += self._update_from(state, given, request, event.result)
                            event = Ended(replace(event.result, notes=(*event.result.notes, *notes)))
                        yield event

    def _carry_over(self, plan: Plan) -> Plan:
        """Return the plan with the variables that earlier commands have changed, except for those of the request."""
        given = plan.request.env
        env = {name: value for name, value in plan.env.items() if self._env_changes.get(name, "") is not None}
        env.update({name: value for name, value in self._env_changes.items() if value is not None})
        env.update(given)
        env["PWD"] = plan.cwd
        return replace(
            plan,
            env=env,
            removed_env=tuple(name for name, value in self._env_changes.items() if value is None and name not in env),
            deferred=deferred_names(name for name in {**self._env_changes, **given} if name in env),
            standby_ok=False,
            reports_state=True,
            pipeline_commands=plan.pipeline_commands if can_report_pipestatus(env, plan.limits.open_files) else (),
        )

    def _ensure_directory(self, consequence: str) -> list[str]:
        """Move to the nearest existing parent if the session's directory is gone; return notes that say so."""
        lost = self.cwd
        if not self._bash.engine.is_local or os.path.isdir(lost):
            return []
        while not os.path.isdir(self.cwd) and self.cwd != "/":
            self.cwd = os.path.dirname(self.cwd)
        return [f"The session's directory {lost} no longer exists; {consequence} in {self.cwd}."]

    def _update_from(self, state: int, given: Mapping[str, str], request: Request, result: Result) -> list[str]:
        if result.task is not None and result.task.pid == result.pid:
            promoted = isinstance(result.outcome, Running) and result.outcome.promoted
            return [_STILL_RUNNING_NOTE] if promoted else []  # the command has not ended yet
        last = read_exit_state(state)
        directory, environment = last.cwd, last.environment
        if directory is None and isinstance(result.outcome, Exited):
            return [_STATE_UNKNOWN_NOTE]
        unknown = [_VARIABLES_UNKNOWN_NOTE] if environment is None and isinstance(result.outcome, Exited) else []
        if environment is not None:
            changed = {name: value for name, value in environment.items() if given.get(name) != value}
            removed = dict.fromkeys([*(given.keys() - environment.keys()), *last.removed_env])
            self._env_changes.update({k: v for k, v in {**changed, **removed}.items() if not _is_of_this_run(k, v)})
        if directory is None or request.cwd is not None or directory == self.cwd:
            return unknown
        if os.path.isdir(directory) or not self._bash.engine.is_local:
            try:
                self._bash.engine.directory(replace(request, cwd=directory), self._ctx)
            except InvalidRequest as error:
                return [*unknown, f"The session stays in {self.cwd}. {error.message}"]
        self.cwd = directory
        moved = self._ensure_directory("the next command runs") or [f"The session's directory is now {directory}."]
        return [*unknown, *moved]


def _is_of_this_run(name: str, value: str | None) -> bool:
    """Return whether bash or the keeper set the variable for this run only, or it points into the run's private TMPDIR,
    which no longer exists."""
    return name in _PER_RUN_VARIABLES or (value is not None and is_in_private_directory(value))
