"""Getting to run at all: a thousand processes that all want to leave a thousandth of the machine to the keeper.

Only root may say otherwise. Whatever another user's run starts is bounded by the kernel's own limit on processes, which
does not bind root. No command inherits any of it.
"""

from __future__ import annotations

import os

_RESET_ON_FORK = 0x40000000


def set_realtime(wanted: bool) -> None:
    """Run before everything else that wants to, or like anything else."""
    try:
        kind = os.SCHED_FIFO if wanted else os.SCHED_OTHER
        os.sched_setscheduler(0, kind | _RESET_ON_FORK, os.sched_param(1 if wanted else 0))
    except (AttributeError, OSError):
        pass
