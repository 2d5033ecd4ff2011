"""The seam: what an engine is asked, and what it gives back."""

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
    """Of this process's environment, only what is asked for by name: where another one is inherited."""
    found = host_environment()
    return {name: found[name] for name in found if any(fnmatchcase(name, each) for each in ctx.pass_env)}


class Engine(ABC):
    """Where commands run."""

    name: str
    """As in `nacre run --engine NAME`, and in results."""
    is_local = True
    """On this machine's file system: what a failed command has looked for can be looked for."""

    @property
    def confines(self) -> bool:
        """Whether access modes can be enforced there."""
        return True

    async def base_environment(self, ctx: ToolContext) -> Mapping[str, str]:
        """The environment that a command would have there, before anything is filtered."""
        return await run_in_thread(login_environment) if ctx.login_env else host_environment()

    def directory(self, request: Request, ctx: ToolContext) -> str:
        """Where a command would start. InvalidRequest: it may not, or cannot be known to."""
        return resolve_cwd(request, ctx)

    @abstractmethod
    def sandbox_plan(self, ctx: ToolContext, limits: Limits, env: Mapping[str, str]) -> SandboxPlan | None:
        """What will be enforced; None for nothing. AccessUnavailable: less than the mode promises."""

    @abstractmethod
    async def start(self, plan: Plan, state: int | None = None, folder: TaskDirHandle | None = None) -> RunHandle:
        """`state` is a file for the shell's last directory and environment, `folder` that of a task.

        EngineUnavailable: nothing can run there, and what to do about it.
        """

    def can_read(self, plan: Plan, path: StrPath | None) -> bool:  # noqa: ARG002
        """Whether such a command could read what nacre keeps here; None: in the directory for temporary files."""
        return self.is_local

    def start_task(self, request: Request, ctx: ToolContext, plan: Plan) -> AsyncGenerator[Event, None] | None:  # noqa: ARG002
        """A task of its own kind; None: it is a run like any other, with a folder here."""
        return None

    def tasks(self, directory: StrPath | None = None) -> Tasks:
        """What lives there by itself, or did."""
        from nacre.tasks import Tasks

        return Tasks(directory)

    async def aclose(self) -> None:
        """Let go of everything that is kept warm."""
        return
