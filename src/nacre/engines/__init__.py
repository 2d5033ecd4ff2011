"""Engines: run commands on this machine, in namespaces, in a container, or on other machines.

An engine takes a plan and returns a run handle, which yields output and the outcome and can cancel the run. Everything
else (checking, capture, views, tasks, sessions) is the same for all engines. `Bash` uses `Local` by default; the others
are imported on first use.
"""

from nacre.engines.engine import Engine
from nacre.engines.local import LOCAL, Local
from nacre.keeper.client.handle import RunHandle

__all__ = ["LOCAL", "Bubblewrap", "Containers", "Engine", "Local", "RunHandle"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.engines.bubblewrap import Bubblewrap
    from nacre.engines.containers.engine import Containers


def __getattr__(name: str) -> object:
    from importlib import import_module

    homes = {"Bubblewrap": "bubblewrap", "Containers": "containers.engine"}
    if name not in homes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{homes[name]}"), name)
