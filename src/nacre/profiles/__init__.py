"""Profiles: the limits, policy, answer format and tool schema of one flavour of the tool, as data. One module each."""

from importlib import import_module

from nacre.errors import InvalidRequest
from nacre.profiles.default import DEFAULT
from nacre.profiles.profile import Profile

__all__ = ["DEFAULT", "NAMES", "Profile", "profile_named"]

NAMES = ("default", "mycode", "tunacode", "phoenix", "yoi", "tachikoma")
"""The profile `x` is the constant `X` of the module `x` in this package."""


def profile_named(name: str) -> Profile:
    """Return the profile with this name; its module is loaded on first use. InvalidRequest: no such profile."""
    if name not in NAMES:
        from difflib import get_close_matches

        near = get_close_matches(str(name), NAMES, n=1)
        raise InvalidRequest(
            "unknown_profile",
            f"Unknown profile {name!r}.",
            field="profile",
            hint=f"Did you mean {near[0]!r}?" if near else f"Use one of: {', '.join(NAMES)}.",
        )
    profile = getattr(import_module(f"nacre.profiles.{name}"), name.upper())
    assert isinstance(profile, Profile)
    return profile
