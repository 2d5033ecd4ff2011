"""The settings of a server, a frozen value."""

from __future__ import annotations

from nacre.base.frozen import frozen
from nacre.observe.events import Observer
from nacre.profiles import DEFAULT, Profile
from nacre.types import Access, ToolContext

CALL_BUDGET_S = 45.0
"""Seconds: below the request timeout of many clients, which is 60."""


@frozen(kw_only=True)
class ServerSettings:
    """The profile, context, observers and answer time of a server."""

    profile: Profile = DEFAULT
    context: ToolContext = ToolContext()
    """Context of every call, which adds its own `cancel` and `approve`."""
    observers: tuple[Observer, ...] = ()
    budget: float = CALL_BUDGET_S
    """Seconds until a call is answered: a command that takes longer keeps running as a background task."""

    @property
    def access(self) -> Access:
        """The access mode that applies: the context's, or the profile's if the context's is `unrestricted`."""
        return self.profile.access if self.context.access == "unrestricted" else self.context.access
