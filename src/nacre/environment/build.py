"""Build the environment of one command from the inherited one and the caller's settings.

Later ones win: inherited and filtered variables, then `NONINTERACTIVE`, then inherited variables that `pass_env` names
exactly, then the caller's `env`, which is never changed. `secrets` win over `pass_env`: an inherited value that
contains one of them is removed. Pure; caches the last result, because a host's environment hardly ever changes between
two commands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import translate
from functools import lru_cache
from typing import NamedTuple

from nacre.base.frozen import frozen
from nacre.environment.credential_patterns import compile_pattern
from nacre.environment.noninteractive import INTERACTIVE, NONINTERACTIVE
from nacre.environment.secret_names import ESSENTIAL, looks_secret
from nacre.environment.unsafe_variables import is_unsafe

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""PATH after `clear_env`. Bash does not export its own default: `env node` in a script would not find node."""

_REPEATABLE = r"(?![/~.])(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9+/_=.-]{16,}"
"""Matches a secret (not a path to one) that is long and unusual enough to be recognised in another variable's value."""


@frozen
class Environment:
    """The variables of a command, and the names of those that were removed."""

    values: dict[str, str]
    removed: tuple[str, ...]
    """Inherited names that are not in `values`, sorted."""


class _CachedEnvironment(NamedTuple):
    """The last arguments and their result, without the caller's `env`."""

    inherited: dict[str, str]
    pass_env: tuple[str, ...]
    secrets: tuple[str, ...]
    values: dict[str, str]
    removed: tuple[str, ...]


_last = _CachedEnvironment({}, (), (), dict(NONINTERACTIVE), ())


def build_env(
    inherited: Mapping[str, str],
    *,
    env: Mapping[str, str],
    clear_env: bool = False,
    pass_env: Sequence[str] = (),
    secrets: Sequence[str] = (),
) -> Environment:
    """Return the environment of a command.

    `inherited`: the environment to filter. `env`: variables to set, never filtered. `clear_env`: inherit nothing.
    `pass_env`: names to inherit unfiltered, or globs such as `AWS_*`. `secrets`: values that no inherited variable may
    contain.
    """
    if clear_env:
        values = {"PATH": DEFAULT_PATH, **NONINTERACTIVE, **env}
        return Environment(values, tuple(sorted(name for name in inherited if name not in values)))
    answer = _answer(inherited if type(inherited) is dict else dict(inherited), tuple(pass_env), tuple(secrets))
    values = answer.values.copy()
    if not env:
        return Environment(values, answer.removed)
    values.update(env)
    return Environment(values, tuple(name for name in answer.removed if name not in env))


def _answer(inherited: dict[str, str], pass_env: tuple[str, ...], secrets: tuple[str, ...]) -> _CachedEnvironment:
    global _last
    last = _last  # read once: another thread may replace it
    if inherited == last.inherited and pass_env == last.pass_env and secrets == last.secrets:
        return last
    kept = _filter(inherited, pass_env, secrets)
    values = {name: value for name, value in kept.items() if name not in INTERACTIVE}
    values.update(NONINTERACTIVE)
    values.update((name, kept[name]) for name in pass_env if name in kept)
    removed = tuple(sorted(name for name in inherited if name not in values))
    _last = last = _CachedEnvironment(inherited.copy(), pass_env, secrets, values, removed)
    return last


def _filter(inherited: dict[str, str], pass_env: tuple[str, ...], secrets: tuple[str, ...]) -> dict[str, str]:
    """Return the variables that are safe to inherit: not unsafe, not secret, without any of the caller's secrets."""
    passes = _matcher(pass_env)
    kept: dict[str, str] = {}
    found: list[str] = []
    for name, value in inherited.items():
        if passes is not None and passes.match(name):
            kept[name] = value
        elif looks_secret(name, value):
            if compile_pattern(_REPEATABLE).fullmatch(value):
                found.append(value)
        elif not is_unsafe(name):
            kept[name] = value
    everything = "\0".join(kept.values())  # one search per secret in all values: hardly any secret occurs twice
    for secret in found:
        if secret in everything:
            exempt = {name for name in kept if name in ESSENTIAL or (passes is not None and passes.match(name))}
            kept = {name: value for name, value in kept.items() if secret not in value or name in exempt}
    for secret in secrets:
        if secret and secret in everything:
            kept = {name: value for name, value in kept.items() if secret not in value}
    return _renumber_git_config(kept) if "GIT_CONFIG_COUNT" in kept else kept


@lru_cache(maxsize=16)
def _matcher(pass_env: tuple[str, ...]) -> re.Pattern[str] | None:
    return re.compile("|".join(translate(name) for name in pass_env)) if pass_env else None


def _renumber_git_config(kept: dict[str, str]) -> dict[str, str]:
    """Close the gaps that the filter left: git refuses to run at all when a `GIT_CONFIG_VALUE_n` is missing."""
    count = kept["GIT_CONFIG_COUNT"]
    total = int(count) if count.isascii() and count.isdigit() and len(count) < 5 else 0
    names = [(f"GIT_CONFIG_KEY_{n}", f"GIT_CONFIG_VALUE_{n}") for n in range(total)]
    whole = [(kept[key], kept[value]) for key, value in names if key in kept and value in kept]
    for key, value in names:
        kept.pop(key, None)
        kept.pop(value, None)
    for (key, value), setting in zip(names, whole, strict=False):
        kept[key], kept[value] = setting
    kept["GIT_CONFIG_COUNT"] = str(len(whole)) if total else count
    return kept
