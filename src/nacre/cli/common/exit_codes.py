"""Exit codes of the command line, beside those of commands."""

from __future__ import annotations

FAILED = 125


UNANSWERED = 3
"""FAILED, of the commands that answer with 0, 1 and 2."""


NOT_GUARDED = 2
"""FAILED, of a hook: to the agent any other code would mean that the command may run."""


REFUSED = 126


INTERRUPTED = 130


CLOSED = 141
"""As if ended by SIGPIPE."""
