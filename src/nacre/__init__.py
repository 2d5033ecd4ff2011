"""nacre: the shell an AI agent lives in.

    result = await nacre.run("pytest -q", timeout=300)
    if not result.ok:
        print(result.summary, result.output)

Nothing happens at import; each name is loaded when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing it from `typing` would be most of what `import nacre` costs
if TYPE_CHECKING:
    from typing import Any

    from nacre.approval.check import check
    from nacre.bash import Bash, run, run_sync
    from nacre.cancel import Cancel
    from nacre.errors import AccessUnavailable, CommandFailed, InvalidRequest, NacreError
    from nacre.policy.policy import Policy
    from nacre.profiles import Profile
    from nacre.result import Chunk, Ended, Result, Started
    from nacre.session import Session
    from nacre.tasks.tasks import Tasks
    from nacre.types import Limits, Request, ToolContext
    from nacre.verdict import Decision, Verdict

__version__ = "0.1.0"

__all__ = [
    "AccessUnavailable",
    "Bash",
    "Cancel",
    "Chunk",
    "CommandFailed",
    "Decision",
    "Ended",
    "InvalidRequest",
    "Limits",
    "NacreError",
    "Policy",
    "Profile",
    "Request",
    "Result",
    "Session",
    "Started",
    "Tasks",
    "ToolContext",
    "Verdict",
    "check",
    "run",
    "run_sync",
]

_HOMES = {
    "AccessUnavailable": "errors",
    "Bash": "bash",
    "Cancel": "cancel",
    "Chunk": "result",
    "CommandFailed": "errors",
    "Decision": "verdict",
    "Ended": "result",
    "InvalidRequest": "errors",
    "Limits": "types",
    "NacreError": "errors",
    "Policy": "policy.policy",
    "Profile": "profiles",
    "Request": "types",
    "Result": "result",
    "Session": "session",
    "Started": "result",
    "Tasks": "tasks.tasks",
    "ToolContext": "types",
    "Verdict": "verdict",
    "check": "approval.check",
    "run": "bash",
    "run_sync": "bash",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'nacre' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"nacre.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
