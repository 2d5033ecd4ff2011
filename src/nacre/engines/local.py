"""The default engine: this machine. The keeper runs commands, and the kernel sandboxes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from nacre.engines.engine import Engine
from nacre.engines.state_pipe import StatePipe, needs_state_pipe
from nacre.keeper.client.events import parse_start_failed
from nacre.keeper.client.handle import UnstartedRun
from nacre.keeper.client.run import LocalRun, start
from nacre.planning.access import plan_sandbox
from nacre.types import Limits, Plan, ToolContext

if TYPE_CHECKING:
    from nacre.keeper.client.connection import TaskDirHandle
    from nacre.sandbox.probe import Kernel
    from nacre.sandbox.resolve import SandboxPlan


class Local(Engine):
    """Engine that runs commands on this machine."""

    name = "local"

    def __init__(self, kernel: Kernel | None = None) -> None:
        self._kernel = kernel
        """Kernel features to rely on; None: those of this kernel."""

    @property
    def confines(self) -> bool:
        from nacre.sandbox.probe import kernel

        return (self._kernel or kernel()).confines

    def sandbox_plan(self, ctx: ToolContext, limits: Limits, env: Mapping[str, str]) -> SandboxPlan | None:
        return plan_sandbox(ctx, limits, env, self._kernel)

    async def start(
        self, plan: Plan, state: int | None = None, folder: TaskDirHandle | None = None
    ) -> LocalRun | UnstartedRun:
        if state is None or not needs_state_pipe(plan):
            return await start(plan, state, folder)
        try:
            pipe = StatePipe(state)
        except OSError as error:
            return UnstartedRun(parse_start_failed(error))
        run: LocalRun | UnstartedRun | None = None
        try:
            run = await start(plan, pipe.fd, folder)
        finally:
            if isinstance(run, LocalRun):
                run.remote_end = pipe
            else:
                pipe.close()
        return run


LOCAL = Local()
