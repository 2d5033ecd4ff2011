"""Getting to run at all: a thousand processes that all want to leave a thousandth of the machine to the keeper.

Only root may say otherwise. Whatever another user's run starts is bounded by the kernel's own limit on processes, which
does not bind root. No command inherits any of it.
"""

from __future__ import annotations

import os

_FOREMOST = -20
_RESET_ON_FORK = 0x40000000


def ahead() -> None:
    """Before others from now on."""
    try:
        if os.getpriority(os.PRIO_PROCESS, 0) == 0:  # who was told to be nice stays so, and so do his commands
            os.sched_setscheduler(0, os.SCHED_OTHER | _RESET_ON_FORK, os.sched_param(0))
            os.setpriority(os.PRIO_PROCESS, 0, _FOREMOST)
    except (AttributeError, OSError):
        pass


def first(wanted: bool) -> None:
    """Before everybody, for the moment. Nothing may be started meanwhile."""
    try:
        kind = os.SCHED_FIFO if wanted else os.SCHED_OTHER
        os.sched_setscheduler(0, kind | _RESET_ON_FORK, os.sched_param(1 if wanted else 0))
    except (AttributeError, OSError):
        pass
