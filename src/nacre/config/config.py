"""The merged configuration: each value with its origin; converted to a policy, a profile, a context. Reads no files."""

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
"""Layers of configuration; each overrides the ones before."""
RULE = "rules."
"""Prefix of a rule's id in the key of its decision."""
_WORKSPACE_SETTINGS = frozenset(("network", "unix_sockets", "writable", "protected", "unprotected"))
_CONFINED_SETTINGS = frozenset((*_WORKSPACE_SETTINGS, "hidden", "allow_partial"))
_RESOURCE_LIMITS = ("memory", "cpu", "processes", "file_size", "open_files")
_PROFILE_SETTINGS = ("timeout", "slow_timeout", "max_timeout", "output", "spill", "log")
_LISTS = frozenset(key.name for key in (*SETTINGS.values(), *LISTS.values()) if key.is_list)


@frozen
class Origin:
    """The layer and place that a value comes from."""

    layer: Layer
    file: str = ""
    """The file, the variable or the option."""
    line: int = 0
    """Line in the file; 0: not requested or not known."""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{self.layer} {place}".rstrip()


@frozen
class Entry:
    """A value with its origin; for a list, one of its items."""

    value: Any
    origin: Origin


@frozen
class Note:
    """A setting in a file that has no effect, and why."""

    key: str
    origin: Origin
    why: str


@frozen(kw_only=True)
class Config:
    """All settings. `Config()` has nacre's defaults."""

    entries: Mapping[str, tuple[Entry, ...]] = field(default_factory=dict)
    """Values by key; permission rules are under `permissions.deny`, decisions under `rules.git-push-force`."""
    notes: tuple[Note, ...] = ()
    files: tuple[str, ...] = ()
    """All files that were read."""

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value in force; for a list, all its items."""
        found = self.entries.get(key)
        if not found:
            return default
        return tuple(dict.fromkeys(entry.value for entry in found)) if key in _LISTS else found[-1].value

    @property
    def policy(self) -> Policy:
        """The policy: that of the profile, with the configured decisions and permission rules."""
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
        """The chosen profile, with the configured policy, timeouts and sizes."""
        changes = {name: self.get(name) for name in _PROFILE_SETTINGS if name in self.entries}
        base, policy = self._base_profile(), self.policy
        if policy is not base.policy:
            changes["policy"] = policy
        return replace(base, **changes) if changes else base

    def _base_profile(self) -> Profile:
        from nacre.profiles import profile_named

        return profile_named(self.get("profile", "default"))

    def context(self, *, env: Mapping[str, str] | None = None, **given: Any) -> ToolContext:
        """Return the context for `Bash(config.profile)`.

        `given`: fields of `ToolContext` that files cannot set, or that override files. `env`: the variables from which
        `secret_env` takes its values (None: this process's).

        Settings that do not apply to the current access are ignored: a list of hidden paths may be configured while
        commands are unrestricted.
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
    """Return whether a setting applies to this access.

    One from an argument always does, so that its lack of effect is reported as an error.
    """
    if entry.origin.layer == "argument" or access == "workspace":
        return True
    return access == "restricted" and name not in _WORKSPACE_SETTINGS
