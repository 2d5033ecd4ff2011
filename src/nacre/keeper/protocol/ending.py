"""Reasons why a run ended, and how long killing it may take. Shared by host and keeper."""

from __future__ import annotations

UNKILLABLE_AFTER_S = 1.0
"""Seconds after KILL until a process counts as unkillable (it sits in the kernel, or it is another user's)."""


KILL_SCRIPT_TIMEOUT_S = 15.0
"""Seconds that an ender may take beyond the grace: it may have to ask another program, which may be busy."""


EXIT, TIMEOUT, CANCEL, LIMIT, KILL = b"exit", b"timeout", b"cancel", b"limit", b"kill"
"""Why a run ended. After LIMIT stands which one, how much it allows and how much was used; after KILL, who asked."""
