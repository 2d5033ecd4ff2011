"""Exit codes of the command line, beside those of commands."""

from __future__ import annotations

EXIT_ERROR = 125


EXIT_NO_VERDICT = 3
"""FAILED, of the commands that answer with 0, 1 and 2."""


EXIT_BLOCK = 2
"""FAILED, of a hook: to the agent any other code would mean that the command may run."""


EXIT_REFUSED = 126


EXIT_INTERRUPTED = 130


EXIT_SIGPIPE = 141
"""As if ended by SIGPIPE."""
