"""Real-time priority for the keeper: a thousand runnable processes leave it a thousandth of the machine.

Only root may set it. Runs of other users are bounded by the kernel's limit on processes, which does not bind root. No
command inherits the priority.
"""

from __future__ import annotations

import os

_RESET_ON_FORK = 0x40000000


def set_realtime(wanted: bool) -> None:
    """Run before all ordinary processes, or like any of them."""
    try:
        kind = os.SCHED_FIFO if wanted else os.SCHED_OTHER
        os.sched_setscheduler(0, kind | _RESET_ON_FORK, os.sched_param(1 if wanted else 0))
    except (AttributeError, OSError):
        pass
