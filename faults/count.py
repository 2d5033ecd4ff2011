"""What most commands here do: count, slowly enough for something to go wrong meanwhile."""

COUNT = "for i in $(seq 20); do echo $i; sleep 0.02; done; exit 7"
COUNTED = "".join(f"{number}\n" for number in range(1, 21))
STUBBORN = "(trap '' TERM; setsid sleep 300 & echo $! >&2)"
"""Leaves something running that only KILL ends, and prints its number on stderr."""
GRACE = 0.3
"""Seconds that it is given all the same."""
HANG_TIMEOUT_S = 60.0
"""Seconds that only something that hangs can take."""
