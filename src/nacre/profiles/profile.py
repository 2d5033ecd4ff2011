"""What a profile is: data only. A difference between two profiles is a field here, never an `if` elsewhere."""

from __future__ import annotations

from nacre.frozen import frozen
from nacre.policy.policy import DEFAULT, Policy
from nacre.types import MIB, Leftovers


@frozen(kw_only=True)
class Profile:
    """The limits and the policy of one flavour of the tool."""

    name: str
    timeout: float = 120.0
    """Seconds, for `mode="default"`."""
    slow_timeout: float = 900.0
    """Seconds, for `mode="slow"`."""
    max_timeout: float = 3600.0
    """No request gets more; `inf` for no limit."""
    grace: float = 1.5
    """Seconds between TERM and KILL."""
    leftovers: Leftovers = "keep"
    output: int = 1 * MIB
    """Bytes of each stream held in memory."""
    spill: int = 16 * MIB
    """Bytes of the spill file."""
    policy: Policy = DEFAULT
    """What may run, what asks, what is refused."""
