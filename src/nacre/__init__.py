"""nacre: run shell commands for AI agents.

    result = await nacre.run("pytest -q", timeout=300)
    if not result.ok:
        print(result.summary, result.output)

Importing the package does nothing else; each public name is loaded on first use.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing it from `typing` would take most of the time of `import nacre`
if TYPE_CHECKING:
    from typing import Any

    from nacre.approval.check import check
    from nacre.bash import Bash, run, run_sync
    from nacre.cancel import Cancel
    from nacre.errors import AccessUnavailable, CommandFailed, InvalidRequest, NacreError
    from nacre.policy.policy import Policy
    from nacre.profiles import Profile
    from nacre.result import (
        Cancelled,
        Chunk,
        Ended,
        Exited,
        Killed,
        Lost,
        NotStarted,
        OverLimit,
        Refused,
        Result,
        Running,
        Signalled,
        Started,
        TimedOut,
    )
    from nacre.session import Session
    from nacre.tasks.tasks import Tasks
    from nacre.types import Limits, Request, ToolContext
    from nacre.verdict import Decision, Verdict
    from nacre.views.model.with_spill import for_model

__version__ = "0.1.0"

__all__ = [
    "AccessUnavailable",
    "Bash",
    "Cancel",
    "Cancelled",
    "Chunk",
    "CommandFailed",
    "Decision",
    "Ended",
    "Exited",
    "InvalidRequest",
    "Killed",
    "Limits",
    "Lost",
    "NacreError",
    "NotStarted",
    "OverLimit",
    "Policy",
    "Profile",
    "Refused",
    "Request",
    "Result",
    "Running",
    "Session",
    "Signalled",
    "Started",
    "Tasks",
    "TimedOut",
    "ToolContext",
    "Verdict",
    "check",
    "for_model",
    "run",
    "run_sync",
]

_MODULES = {
    "AccessUnavailable": "errors",
    "Bash": "bash",
    "Cancel": "cancel",
    "Cancelled": "result",
    "Chunk": "result",
    "CommandFailed": "errors",
    "Decision": "verdict",
    "Ended": "result",
    "Exited": "result",
    "InvalidRequest": "errors",
    "Killed": "result",
    "Limits": "types",
    "Lost": "result",
    "NacreError": "errors",
    "NotStarted": "result",
    "OverLimit": "result",
    "Policy": "policy.policy",
    "Profile": "profiles",
    "Refused": "result",
    "Request": "types",
    "Result": "result",
    "Running": "result",
    "Session": "session",
    "Signalled": "result",
    "Started": "result",
    "Tasks": "tasks.tasks",
    "TimedOut": "result",
    "ToolContext": "types",
    "Verdict": "verdict",
    "check": "approval.check",
    "for_model": "views.model.with_spill",
    "run": "bash",
    "run_sync": "bash",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'nacre' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"nacre.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
