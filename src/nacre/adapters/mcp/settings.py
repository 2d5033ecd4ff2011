"""What a server was started with. A frozen value."""

from __future__ import annotations

from nacre.base.frozen import frozen
from nacre.observe.events import Observer
from nacre.profiles import DEFAULT, Profile
from nacre.types import Access, ToolContext

CALL_BUDGET_S = 45.0
"""Seconds: many clients give up after 60."""


@frozen(kw_only=True)
class ServerSettings:
    profile: Profile = DEFAULT
    context: ToolContext = ToolContext()
    """For every call; each gets a cancel switch, and whom to ask, of its own."""
    observers: tuple[Observer, ...] = ()
    budget: float = CALL_BUDGET_S
    """Seconds within which a call is answered: a command that takes longer goes on as a task."""

    @property
    def access(self) -> Access:
        """The one in force."""
        return self.profile.access if self.context.access == "unrestricted" else self.context.access
