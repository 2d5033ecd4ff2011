"""Protected paths: recorded before a run, compared after it, restored and reported."""

from __future__ import annotations

from nacre.base.threads import run_in_thread
from nacre.protected_paths.protection import Protection
from nacre.protected_paths.snapshot import PathSnapshot
from nacre.types import Plan

__all__ = ["PathSnapshot", "Protection", "restore_snapshot", "take_snapshot"]


async def take_snapshot(plan: Plan) -> Protection | None:
    """Record the state of the paths that `plan` protects, in a new thread. Return None if it protects none that need
    recording. Raises OSError if there is no file descriptor to read them with."""
    return await run_in_thread(Protection, plan.protected) if plan.protected.need_snapshot else None


async def restore_snapshot(protection: Protection, *, becomes_task: bool = False) -> list[str]:
    """Restore the protected paths in a new thread and return a sentence for each change. Once started it runs to the
    end, even if the caller is cancelled. `becomes_task`: the run continues as a task."""
    return await run_in_thread(protection.restore, becomes_task=becomes_task)
