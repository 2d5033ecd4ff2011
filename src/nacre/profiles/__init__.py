"""Profiles: the limits, policy, output and schema of one flavour of the tool, as data."""

from nacre.errors import InvalidRequest
from nacre.profiles.default import DEFAULT
from nacre.profiles.profile import Profile

__all__ = ["DEFAULT", "Profile", "named"]


def named(name: str) -> Profile:
    """The profile of that name."""
    try:
        return _ALL[name]
    except KeyError:
        known = ", ".join(_ALL)
        raise InvalidRequest(
            "unknown_profile", f"There is no profile {name!r}.", field="profile", hint=f"Use one of: {known}."
        ) from None


_ALL = {profile.name: profile for profile in (DEFAULT,)}
