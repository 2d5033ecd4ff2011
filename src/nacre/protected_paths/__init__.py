"""Remember protected paths before a run, compare them after it, put them back and report it."""

from __future__ import annotations

from nacre.base.threads import beside
from nacre.protected_paths.protection import Protection
from nacre.protected_paths.snapshot import Guard
from nacre.types import Plan

__all__ = ["Guard", "Protection", "remember", "restored"]


async def remember(plan: Plan) -> Protection | None:
    """Beside the event loop, if there is anything to remember. OSError: there is no descriptor to look with."""
    looks = plan.watched or plan.repositories or plan.mounted or plan.covered
    return await beside(Protection, plan) if looks else None


async def restored(protection: Protection, *, goes_on: bool = False) -> list[str]:
    """Beside the event loop; once begun it is done to the end, even if nobody waits any more. `goes_on`: the run does,
    as a task."""
    return await beside(protection.restore, goes_on=goes_on)
