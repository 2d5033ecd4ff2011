"""Our own best."""

from nacre.profiles.profile import Profile

DEFAULT = Profile(name="default")
