"""Commands that most faults use: they count, slowly enough for a fault to occur meanwhile."""

COUNT = "for i in $(seq 20); do echo $i; sleep 0.02; done; exit 7"
COUNTED = "".join(f"{number}\n" for number in range(1, 21))
STUBBORN = "(trap '' TERM; setsid sleep 300 & echo $! >&2)"
"""Leaves a process running that only SIGKILL ends, and prints its PID on stderr."""
GRACE = 0.3
"""Grace in seconds that it is given nevertheless."""
HANG_TIMEOUT_S = 60.0
"""Time limit in seconds that only a hang can exceed."""
