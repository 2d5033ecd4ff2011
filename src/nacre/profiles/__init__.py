"""Profiles: the limits, policy, answer format and tool schema of one flavour of the tool, as data. One module each."""

from importlib import import_module

from nacre.base.suggest import did_you_mean
from nacre.errors import InvalidRequest
from nacre.profiles.default import DEFAULT
from nacre.profiles.profile import Profile

__all__ = ["DEFAULT", "NAMES", "Profile", "profile_named"]

NAMES = ("default", "mycode", "tunacode", "phoenix", "yoi", "tachikoma")
"""The profile `x` is the constant `X` of the module `x` in this package."""


def profile_named(name: str) -> Profile:
    """Return the profile with this name; its module is loaded on first use. InvalidRequest: no such profile."""
    if name not in NAMES:
        raise InvalidRequest(
            "unknown_profile",
            f"Unknown profile {name!r}.",
            field="profile",
            hint=did_you_mean(name, NAMES, f"Use one of: {', '.join(NAMES)}."),
        )
    profile = getattr(import_module(f"nacre.profiles.{name}"), name.upper())
    assert isinstance(profile, Profile)
    return profile
