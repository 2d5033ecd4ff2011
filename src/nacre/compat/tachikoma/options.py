"""BashOptions: a builder whose every step gives new options; what has been set stands under `values`.

The document gives a field and the method that sets it the same name, which Python cannot.
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
    """What has been set. Under the document's names."""

    working_dir: StrPath | None = None
    """Relative to the context's, which is also the default."""
    env_vars: Mapping[str, str] = field(default_factory=dict)
    clear_env: bool = False
    timeout: float | None = 120.0
    """Seconds; None for no limit."""
    blocked_commands: tuple[str, ...] = BLOCKED
    """The list that comes with it, and what was added."""
    max_output_size: int = MAX_OUTPUT
    """Bytes of each stream."""
    literal: bool = False
    """Every pattern is a text, wherever it stands: as the document does it."""
    leftovers: Leftovers | None = None
    """What becomes of jobs that are still running when the shell has exited (`nacre.Request.leftovers`)."""


class BashOptions:
    """`BashOptions().working_dir("/tmp").env("NAME", "value").timeout(30)`"""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values = OptionValues()

    @staticmethod
    def new() -> BashOptions:
        return BashOptions()

    def working_dir(self, dir: StrPath) -> BashOptions:
        return self._with(working_dir=dir)

    def env(self, key: str, value: str) -> BashOptions:
        return self.envs({key: value})

    def envs(self, vars: Mapping[str, str]) -> BashOptions:
        return self._with(env_vars={**self.values.env_vars, **vars})

    def clear_env(self) -> BashOptions:
        """Inherit nothing; `PATH` and what keeps programs from waiting for a person are set."""
        return self._with(clear_env=True)

    def timeout(self, timeout: float | timedelta) -> BashOptions:
        """Seconds, or a `timedelta`."""
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:  # nor NaN
            raise Validation(f"The timeout is {timeout!r}. Give seconds above 0, or use no_timeout().")
        return self._with(timeout=float(seconds))

    def no_timeout(self) -> BashOptions:
        return self._with(timeout=None)

    def block_command(self, pattern: str) -> BashOptions:
        """One more text that no command may hold, whatever its case."""
        if not isinstance(pattern, str):
            raise Validation(f"The pattern is {pattern!r}. Give a text.")
        return self._with(blocked_commands=(*self.values.blocked_commands, str(pattern)))

    def max_output(self, size: int) -> BashOptions:
        """Bytes of each stream; what goes beyond is read, counted and left out."""
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise Validation(f"The output limit is {size!r}. Give a number of bytes.")
        return self._with(max_output_size=size)

    def literal(self) -> BashOptions:
        """Not in the document: its patterns as it has them, as texts wherever they stand."""
        return self._with(literal=True)

    def leftovers(self, leftovers: Leftovers) -> BashOptions:
        """Not in the document: `wait` for the jobs of the shell, `end` them, or `keep` them, which is the default."""
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
