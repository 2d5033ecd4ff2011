"""Background tasks: runs that may outlive the call that started them, and the host program.

Each name is imported on first use.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nacre.tasks.match import Match
    from nacre.tasks.store.log_reader import Output
    from nacre.tasks.store.task import Task
    from nacre.tasks.tasks import Tasks
    from nacre.tasks.wait import Exit, Port, Quiet, WaitResult

__all__ = ["Exit", "Match", "Output", "Port", "Quiet", "Task", "Tasks", "WaitResult"]

_HOMES = {
    "Exit": "wait",
    "Match": "match",
    "Output": "store.log_reader",
    "Port": "wait",
    "Quiet": "wait",
    "Task": "store.task",
    "Tasks": "tasks",
    "WaitResult": "wait",
}


def __getattr__(name: str) -> Any:
    """Import the module of a public name on first access."""
    if name not in _HOMES:
        raise AttributeError(f"module 'nacre.tasks' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"nacre.tasks.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
