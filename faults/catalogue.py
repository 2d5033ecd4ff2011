"""All faults, by name."""

from __future__ import annotations

from typing import NamedTuple

from faults import abandoned, clock, disks, readers, replaced, scarce, shared, sigkill, stopped
from faults.round import Fault


class Kind(NamedTuple):
    fault: Fault
    rounds: int
    """Number of rounds in a full run."""


FAULTS = {
    "program killed": Kind(sigkill.kill_host, 130),
    "keeper killed": Kind(sigkill.kill_keeper, 130),
    "keeper killed, message unread": Kind(replaced.kill_before_request, 30),
    "keeper killed, many threads": Kind(replaced.kill_keeper_under_threads, 20),
    "keeper killed, callers gone": Kind(abandoned.callers, 40),
    "task's keeper killed": Kind(sigkill.kill_task_keeper, 100),
    "standby keeper killed": Kind(replaced.kill_standby_keepers, 30),
    "shell killed": Kind(sigkill.kill_shell, 140),
    "program stopped": Kind(stopped.host, 20),
    "keeper or shell stopped": Kind(stopped.others, 30),
    "disk full": Kind(disks.full, 25),
    "disk read-only": Kind(disks.read_only, 5),
    "no directory for tasks": Kind(disks.no_state, 15),
    "no place for temporary files": Kind(disks.no_temporary, 15),
    "descriptors run out": Kind(scarce.descriptors, 20),
    "processes run out": Kind(scarce.processes, 8),
    "clock set": Kind(clock.jumps, 12),
    "slow reader": Kind(readers.slow, 12),
    "one directory, ten programs": Kind(shared.store, 8),
}
