"""What most commands here do: count, slowly enough for something to go wrong meanwhile."""

COUNT = "for i in $(seq 20); do echo $i; sleep 0.02; done; exit 7"
COUNTED = "".join(f"{number}\n" for number in range(1, 21))
PATIENCE = 60.0
"""Seconds that only something that hangs can take."""
