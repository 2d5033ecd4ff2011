"""Reasons why a run ended, and how long killing it may take. Shared by host and keeper."""

from __future__ import annotations

UNKILLABLE_AFTER_S = 1.0
"""Seconds after SIGKILL until a process counts as unkillable: it is blocked in the kernel, or belongs to another
user."""


KILL_SCRIPT_TIMEOUT_S = 15.0
"""Seconds beyond the grace for a kill script, which may have to call another program that is busy."""


EXIT, TIMEOUT, CANCEL, LIMIT, KILL = b"exit", b"timeout", b"cancel", b"limit", b"kill"
"""Reasons why a run ended. LIMIT is followed by the limit's name, its value and the amount used; KILL by the
requester."""
