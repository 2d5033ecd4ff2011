"""The interface of engines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from nacre.base.threads import run_in_thread
from nacre.environment import host_environment, login_environment
from nacre.keeper.client.handle import RunHandle
from nacre.planning.paths import resolve_cwd
from nacre.result import Event
from nacre.types import Limits, Plan, Request, StrPath, ToolContext

if TYPE_CHECKING:
    from nacre.keeper.client.connection import TaskDirHandle
    from nacre.sandbox.resolve import SandboxPlan
    from nacre.tasks import Tasks


def passed_variables(ctx: ToolContext) -> dict[str, str]:
    """Return the variables of this process that `pass_env` names, for engines where commands inherit another
    environment."""
    found = host_environment()
    return {name: found[name] for name in found if any(fnmatchcase(name, each) for each in ctx.pass_env)}


class Engine(ABC):
    """Base class of engines: where and how commands run."""

    name: str
    """Name for `nacre run --engine NAME`, and in results."""
    is_local = True
    """Commands use this machine's file system, so hints after a failure can look up paths here."""

    @property
    def confines(self) -> bool:
        """Whether the engine can enforce access modes."""
        return True

    async def base_environment(self, ctx: ToolContext) -> Mapping[str, str]:
        """Return the environment that commands inherit there, before it is filtered."""
        return await run_in_thread(login_environment) if ctx.login_env else host_environment()

    def directory(self, request: Request, ctx: ToolContext) -> str:
        """Return the directory in which a command starts. Raises InvalidRequest if it is not allowed, or cannot be
        determined."""
        return resolve_cwd(request, ctx)

    @abstractmethod
    def sandbox_plan(self, ctx: ToolContext, limits: Limits, env: Mapping[str, str]) -> SandboxPlan | None:
        """Return the rules that will be enforced; None if there are none. Raises AccessUnavailable if that is less
        than the access mode promises."""

    @abstractmethod
    async def start(self, plan: Plan, state: int | None = None, folder: TaskDirHandle | None = None) -> RunHandle:
        """Start a run and return its handle.

        `state` is the descriptor of a file for the shell's last directory and environment; `folder`, the directory of a
        background task. Raises EngineUnavailable if nothing can run there; the error says what to do.
        """

    def can_read(self, plan: Plan, path: StrPath | None) -> bool:  # noqa: ARG002
        """Return whether a command with this plan could read a file that nacre keeps at `path`; None: in the temporary
        directory."""
        return self.is_local

    def start_task(self, request: Request, ctx: ToolContext, plan: Plan) -> AsyncGenerator[Event, None] | None:  # noqa: ARG002
        """Start a background task by the engine's own means and yield its events. None: tasks are ordinary runs, with a
        directory on this machine."""
        return None

    def tasks(self, directory: StrPath | None = None) -> Tasks:
        """Return the background tasks of this engine; `directory` is the store, by default the user's."""
        from nacre.tasks import Tasks

        return Tasks(directory)

    async def aclose(self) -> None:
        """Release what is kept for later runs, such as containers and connections."""
        return
