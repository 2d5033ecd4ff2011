"""BashOptions: a builder whose methods each return new options; `values` has the current settings.

The specification gives a field and the method that sets it the same name, which Python does not allow.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from nacre.base.frozen import field, frozen, replace
from nacre.compat.tachikoma.errors import Validation
from nacre.profiles.tachikoma import BLOCKED, MAX_OUTPUT
from nacre.types import Leftovers, StrPath


@frozen(kw_only=True)
class OptionValues:
    """The current settings, under the names of the specification."""

    working_dir: StrPath | None = None
    """Relative to the context's directory, which is also the default."""
    env_vars: Mapping[str, str] = field(default_factory=dict)
    clear_env: bool = False
    timeout: float | None = 120.0
    """Seconds; None: no limit."""
    blocked_commands: tuple[str, ...] = BLOCKED
    """The built-in list and the added patterns."""
    max_output_size: int = MAX_OUTPUT
    """Bytes of each stream."""
    literal: bool = False
    """Match every pattern as plain text anywhere in the command, as in the specification."""
    leftovers: Leftovers | None = None
    """Handling of background jobs that are still running when the shell has exited (`nacre.Request.leftovers`)."""


class BashOptions:
    """Immutable builder: `BashOptions().working_dir("/tmp").env("NAME", "value").timeout(30)`."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values = OptionValues()

    @staticmethod
    def new() -> BashOptions:
        """Return the default options."""
        return BashOptions()

    def working_dir(self, dir: StrPath) -> BashOptions:
        """Set the working directory, relative to the context's."""
        return self._with(working_dir=dir)

    def env(self, key: str, value: str) -> BashOptions:
        """Set an environment variable."""
        return self.envs({key: value})

    def envs(self, vars: Mapping[str, str]) -> BashOptions:
        """Set environment variables; earlier ones are kept."""
        return self._with(env_vars={**self.values.env_vars, **vars})

    def clear_env(self) -> BashOptions:
        """Inherit no variables; `PATH` and the variables that keep programs from prompting are still set."""
        return self._with(clear_env=True)

    def timeout(self, timeout: float | timedelta) -> BashOptions:
        """Set the timeout, in seconds or as a `timedelta`. Raise Validation unless it is above 0."""
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:  # rejects NaN, too
            raise Validation(f"The timeout is {timeout!r}. Give seconds above 0, or use no_timeout().")
        return self._with(timeout=float(seconds))

    def no_timeout(self) -> BashOptions:
        """Remove the time limit."""
        return self._with(timeout=None)

    def block_command(self, pattern: str) -> BashOptions:
        """Add a text that no command may contain, ignoring case."""
        if not isinstance(pattern, str):
            raise Validation(f"The pattern is {pattern!r}. Give a text.")
        return self._with(blocked_commands=(*self.values.blocked_commands, str(pattern)))

    def max_output(self, size: int) -> BashOptions:
        """Set the maximum bytes of each stream; further output is read, counted and dropped."""
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise Validation(f"The output limit is {size!r}. Give a number of bytes.")
        return self._with(max_output_size=size)

    def literal(self) -> BashOptions:
        """Match the patterns as plain text anywhere in the command, as the specification does. This method is not in
        the specification."""
        return self._with(literal=True)

    def leftovers(self, leftovers: Leftovers) -> BashOptions:
        """`wait` for background jobs of the shell, `end` them, or `keep` them (the default). This method is not in the
        specification."""
        return self._with(leftovers=leftovers)

    def _with(self, **changes: Any) -> BashOptions:
        made = BashOptions()
        made.values = replace(self.values, **changes)
        return made

    def __eq__(self, other: object) -> bool:
        return self.values == other.values if isinstance(other, BashOptions) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.values.working_dir, self.values.timeout, self.values.blocked_commands))

    def __repr__(self) -> str:
        return f"BashOptions({self.values!r})"
