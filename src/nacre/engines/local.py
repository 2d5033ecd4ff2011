"""The engine that is always there: this machine, by the keeper, confined by its kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from nacre.engines.engine import Engine
from nacre.engines.state_pipe import StatePipe, needs_state_pipe
from nacre.keeper.client.events import never_began
from nacre.keeper.client.handle import Stillborn
from nacre.keeper.client.run import LiveRun, start
from nacre.planning.access import confine
from nacre.types import Limits, Plan, ToolContext

if TYPE_CHECKING:
    from nacre.keeper.client.connection import Folder
    from nacre.sandbox.probe import Kernel
    from nacre.sandbox.resolve import Enforceable


class Local(Engine):
    name = "local"

    def __init__(self, kernel: Kernel | None = None) -> None:
        self._kernel = kernel
        """What confines; None for this one."""

    @property
    def confines(self) -> bool:
        from nacre.sandbox.probe import kernel

        return (self._kernel or kernel()).confines

    def confined(self, ctx: ToolContext, limits: Limits, env: Mapping[str, str]) -> Enforceable | None:
        return confine(ctx, limits, env, self._kernel)

    async def start(self, plan: Plan, state: int | None = None, folder: Folder | None = None) -> LiveRun | Stillborn:
        if state is None or not needs_state_pipe(plan):
            return await start(plan, state, folder)
        try:
            pipe = StatePipe(state)
        except OSError as error:
            return Stillborn(never_began(error))
        run: LiveRun | Stillborn | None = None
        try:
            run = await start(plan, pipe.fd, folder)
        finally:
            if isinstance(run, LiveRun):
                run.beyond = pipe
            else:
                pipe.close()
        return run


LOCAL = Local()
