"""Configuration: find and merge the settings for a directory.

    config = nacre.config.load()
    bash = nacre.Bash(config.profile)
    result = await bash.run("make", config.context())

Defaults, the user's files, the project's files, environment variables (`NACRE_…`), arguments: each overrides the ones
before. Of a project's settings, except its timeouts, only those count that are stricter than the user's. The library
never reads settings unless this is called; `nacre run`, `check`, `explain` and `config` call it.

`InvalidConfig`: an unknown setting or a value of the wrong type, with its file and line.
"""

from __future__ import annotations

import os

from nacre.base.system import config_directory, home_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from nacre.config.config import Config
    from nacre.config.files import File, FileLocation
    from nacre.policy.policy import Policy
    from nacre.types import StrPath

__all__ = ["load", "load_if_configured", "policy_for"]

INTERNAL = frozenset(("PORTABLE", "RUN", "STATUS", "TOLD", "BASH_ENV", "READING_ENVIRONMENT"))
"""Suffixes of the NACRE_ variables that are not settings."""
_MAX_PARENT_DIRECTORIES = 4096
"""Limit of parent directories to search: no existing path has more."""


def load(
    cwd: StrPath | None = None,
    *,
    env: Mapping[str, str] | None = None,
    arguments: Mapping[str, Any] | None = None,
    files: bool = True,
    lines: bool = False,
) -> Config:
    """Return the configuration for commands in `cwd` (None: the current directory).

    `env`: the variables to read, `os.environ` by default. `arguments`: settings by name, which override all others.
    `files=False`: read neither files nor variables. `lines`: record the line of each value, which takes a moment.
    Raises `InvalidConfig`.
    """
    variables = _variables(os.environ if env is None else env) if files else {}
    return _build_config(_find_files(cwd) if files else [], variables, arguments or {}, lines=lines)


def load_if_configured(cwd: StrPath | None = None) -> Config | None:
    """Return `load(cwd)`, or None if nothing is configured.

    For programs that start often: without configuration, hardly any module is loaded.
    """
    found, variables = _find_files(cwd), _variables(os.environ)
    return _build_config(found, variables, {}) if found or variables else None


def policy_for(cwd: StrPath | None = None) -> Policy:
    """Return `load(cwd).policy`, with as few modules loaded as by `load_if_configured`."""
    from nacre.policy.policy import DEFAULT

    config = load_if_configured(cwd)
    return DEFAULT if config is None else config.policy


def _build_config(
    found: list[File], variables: Mapping[str, str], arguments: Mapping[str, Any], *, lines: bool = False
) -> Config:
    if not found and not variables and not arguments:
        from nacre.config.config import Config

        return Config()
    from nacre.config.layers import Layers

    layers = Layers(home_directory(), lines=lines)
    mine = [file for file in found if not file.project]
    for file in mine:
        if file.kind == "toml":
            layers.toml(file)
    reads_claude = layers.reads_claude(variables)
    for file in mine:
        if file.kind == "claude" and reads_claude:
            layers.claude(file)
    nearest = False
    for file in found:
        if file.project and file.kind == "pyproject":
            nearest = nearest or layers.toml(file)
        elif file.project and reads_claude:
            layers.claude(file)
    layers.environment(variables)
    layers.arguments(arguments)
    return layers.result()


def _find_files(cwd: StrPath | None) -> list[File]:
    places = _places(cwd)
    if not places:
        return []
    from nacre.config.files import files_at

    return files_at(places)


def _places(cwd: StrPath | None) -> list[FileLocation]:
    """Return the places of settings files: the user's, then the project's, from `cwd` up to the root of a repository.

    The home directory is not a project.
    """
    try:
        directory = os.getcwd() if cwd is None else os.path.abspath(os.fspath(cwd))
    except OSError:
        directory = ""
    home, exists, join = home_directory(), os.path.lexists, os.path.join
    homes = (os.path.normpath(home), os.path.realpath(home))
    found: list[FileLocation] = []
    if exists(mine := config_directory()):
        found.append((join(mine, "config.toml"), "toml", False))
    if exists(claude := os.environ.get("CLAUDE_CONFIG_DIR", "") or join(home, ".claude")):
        found.append((join(claude, "settings.json"), "claude", False))
    for _ in range(_MAX_PARENT_DIRECTORIES):
        if not directory or directory in homes:
            break
        if exists(pyproject := join(directory, "pyproject.toml")):
            found.append((pyproject, "pyproject", True))
        if exists(claude := join(directory, ".claude")):
            found += [(join(claude, name), "claude", True) for name in ("settings.json", "settings.local.json")]
        above = os.path.dirname(directory)
        if above == directory or exists(join(directory, ".git")):
            break
        directory = above
    return found


def _variables(env: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value for name, value in env.items() if name.startswith("NACRE_") and value and name[6:] not in INTERNAL
    }
