"""What is configured: each value with where it came from; as a policy, a profile, a context. Data only, no files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from nacre.base.frozen import field, frozen, replace
from nacre.config.settings import LISTS, SETTINGS
from nacre.policy.policy import DEFAULT, Policy
from nacre.verdict import Decision

if TYPE_CHECKING:
    from nacre.profiles import Profile
    from nacre.types import Limits, ToolContext

Layer: TypeAlias = Literal["default", "user", "project", "environment", "argument"]
"""Each over the ones before it."""
RULE = "rules."
"""Before the id of a rule, in the key of its decision."""
_WORKSPACE_SETTINGS = frozenset(("network", "unix_sockets", "writable", "protected", "unprotected"))
_CONFINED_SETTINGS = frozenset((*_WORKSPACE_SETTINGS, "hidden", "allow_partial"))
_RESOURCE_LIMITS = ("memory", "cpu", "processes", "file_size", "open_files")
_PROFILE_SETTINGS = ("timeout", "slow_timeout", "max_timeout", "output", "spill", "log")
_LISTS = frozenset(key.name for key in (*SETTINGS.values(), *LISTS.values()) if key.is_list)


@frozen
class Origin:
    """Where a value came from."""

    layer: Layer
    file: str = ""
    """Or the variable, or the option."""
    line: int = 0
    """0: not asked for, or not known."""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{self.layer} {place}".rstrip()


@frozen
class Entry:
    """One value; of a list, one of its items."""

    value: Any
    origin: Origin


@frozen
class Note:
    """What stands in a file and has no effect."""

    key: str
    origin: Origin
    why: str


@frozen(kw_only=True)
class Config:
    """Everything that is set somewhere. `Config()` is nacre as it comes."""

    entries: Mapping[str, tuple[Entry, ...]] = field(default_factory=dict)
    """By key; lists of permission rules as `permissions.deny`, decisions as `rules.git-push-force`."""
    notes: tuple[Note, ...] = ()
    files: tuple[str, ...] = ()
    """All that were read."""

    def get(self, key: str, default: Any = None) -> Any:
        """The value in force; of a list, all of it."""
        found = self.entries.get(key)
        if not found:
            return default
        return tuple(dict.fromkeys(entry.value for entry in found)) if key in _LISTS else found[-1].value

    @property
    def policy(self) -> Policy:
        """What may run, what asks, what is refused."""
        name = self.get("profile", "default")
        base = DEFAULT if name == "default" else self._base_profile().policy
        decisions = {key[len(RULE) :]: each[-1].value for key, each in self.entries.items() if key.startswith(RULE)}
        rules = {name: self.get(key.name, ()) for name, key in LISTS.items()}
        changes: dict[str, Any] = {}
        if decisions:
            changes["decisions"] = {**base.decisions, **decisions}
        if any(rules.values()):
            from nacre.policy.permissions.patterns import Permissions

            changes["permissions"] = Permissions(**rules)
        if "default_decision" in self.entries:
            changes["default_decision"] = Decision(self.get("default_decision"))
        return replace(base, **changes) if changes else base

    @property
    def profile(self) -> Profile:
        """The one that was chosen, with the policy, the timeouts and the sizes that are set."""
        changes = {name: self.get(name) for name in _PROFILE_SETTINGS if name in self.entries}
        base, policy = self._base_profile(), self.policy
        if policy is not base.policy:
            changes["policy"] = policy
        return replace(base, **changes) if changes else base

    def _base_profile(self) -> Profile:
        from nacre.profiles import profile_named

        return profile_named(self.get("profile", "default"))

    def context(self, *, env: Mapping[str, str] | None = None, **given: Any) -> ToolContext:
        """For `Bash(config.profile)`. `given`: fields of `ToolContext` that no file can know, or that are to win.

        What has no meaning with the access in force is left out: a list of hidden paths may stand there for the day
        on which commands are confined.
        """
        from nacre.environment import host_environment
        from nacre.types import ToolContext

        access = self.get("access", "unrestricted")
        fields: dict[str, Any] = {"access": access, "pass_env": self.get("pass_env", ())}
        for name in sorted(_CONFINED_SETTINGS):
            if entries := [each for each in self.entries.get(name, ()) if _applies(name, access, each)]:
                fields[name] = tuple(each.value for each in entries) if name in _LISTS else entries[-1].value
        if names := self.get("secret_env", ()):
            host = host_environment() if env is None else env
            fields["secrets"] = tuple(host[name] for name in names if host.get(name))
        fields["limits"] = self._limits(given.pop("limits", None))
        return ToolContext(**{**fields, **given})

    def _limits(self, given: Limits | None) -> Limits:
        from nacre.types import Limits

        limits = given or Limits()
        missing = {
            name: self.get(name) for name in _RESOURCE_LIMITS if name in self.entries and getattr(limits, name) is None
        }
        return replace(limits, **missing)


def _applies(name: str, access: str, entry: Entry) -> bool:
    """What was asked for by an argument always does: if it has no meaning, that is to be said."""
    if entry.origin.layer == "argument" or access == "workspace":
        return True
    return access == "restricted" and name not in _WORKSPACE_SETTINGS
