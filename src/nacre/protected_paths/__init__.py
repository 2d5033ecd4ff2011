"""Remember protected paths before a run, compare them after it, put them back and report it."""

from __future__ import annotations

from nacre.base.threads import run_in_thread
from nacre.protected_paths.protection import Protection
from nacre.protected_paths.snapshot import PathSnapshot
from nacre.types import Plan

__all__ = ["PathSnapshot", "Protection", "restore_snapshot", "take_snapshot"]


async def take_snapshot(plan: Plan) -> Protection | None:
    """Beside the event loop, if there is anything to remember. OSError: there is no descriptor to look with."""
    looks = plan.compared_paths or plan.repositories or plan.mounted or plan.covered
    return await run_in_thread(Protection, plan) if looks else None


async def restore_snapshot(protection: Protection, *, goes_on: bool = False) -> list[str]:
    """Beside the event loop; once begun it is done to the end, even if nobody waits any more. `goes_on`: the run does,
    as a task."""
    return await run_in_thread(protection.restore, goes_on=goes_on)
