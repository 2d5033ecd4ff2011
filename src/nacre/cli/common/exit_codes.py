"""Exit codes of nacre itself, in addition to those of the commands it runs."""

from __future__ import annotations

EXIT_ERROR = 125
"""nacre failed, or its arguments are invalid."""
EXIT_NO_VERDICT = 3
"""As `EXIT_ERROR`, for the commands whose verdict is 0, 1 or 2."""
EXIT_BLOCK = 2
"""As `EXIT_ERROR`, for a hook: the agent takes any other code as permission to run the command."""
EXIT_MISCONFIGURED = 2
"""As `EXIT_ERROR`, for `nacre mcp`."""
EXIT_TIMED_OUT = 124
EXIT_REFUSED = 126
EXIT_INTERRUPTED = 130
EXIT_SIGPIPE = 141
"""As if killed by SIGPIPE."""


class FailureCodes:
    """Exit codes of a command for failures of nacre's own."""

    __slots__ = ("broken_pipe", "error", "interrupted")

    def __init__(
        self, error: int = EXIT_ERROR, interrupted: int = EXIT_INTERRUPTED, broken_pipe: int = EXIT_SIGPIPE
    ) -> None:
        self.error = error
        self.interrupted = interrupted
        self.broken_pipe = broken_pipe
