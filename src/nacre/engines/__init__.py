"""Where commands run: here, in namespaces, in a container, on another machine.

An engine takes a plan and gives a run: what it prints, how it ended, a way to end it. Everything above (checking,
capture, views) and everything beside (tasks, sessions) is the same for all of them. `Local` is what `Bash` uses unless
it is told otherwise; each of the others is loaded by whoever asks for it.
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
