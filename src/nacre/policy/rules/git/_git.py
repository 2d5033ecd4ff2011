"""Parses calls of git: subcommand, arguments, directory; and finds pathspecs that match the whole working tree."""

from __future__ import annotations

import posixpath
import re
import shlex

from nacre.policy.rules._options import ParsedOptions, parse_options, which_program
from nacre.shell.command import Command
from nacre.shell.paths import absolute
from nacre.shell.symbolic import ALL_FOUND, STAR, is_fully_known, to_source

_GLOBAL_VALUES = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source", "--exec-path")
_PATHS = " pathspec-from-file= pathspec-file-nul quiet"
_TAKES = {
    "add": ("U", "all no-ignore-removal update dry-run interactive patch edit renormalize refresh chmod=" + _PATHS),
    "push": ("o", "force force-with-lease force-if-includes mirror delete dry-run tags prune push-option= repo= exec="),
    "reset": ("U", "hard soft mixed merge keep patch refresh" + _PATHS),
    "clean": ("e", "force dry-run interactive quiet exclude="),
    "checkout": ("bBU", "force patch ours theirs merge orphan= conflict= detach track" + _PATHS),
    "switch": ("cC", "discard-changes force create= force-create= orphan= conflict= detach merge track quiet"),
    "restore": ("sU", "source= staged worktree patch ours theirs merge conflict=" + _PATHS),
    "rm": ("", "force dry-run cached ignore-unmatch sparse" + _PATHS),
    "branch": ("u", "delete force remotes all list move copy set-upstream-to= sort= format= points-at= quiet verbose"),
    "gc": ("", "prune auto aggressive quiet force"),
    "update-ref": ("m", "stdin no-deref create-reflog"),
}
"""For each subcommand, the letters of options with a value, and the long options that matter here."""
_STARS = ("*", "**", to_source(ALL_FOUND))
_TAKES["stage"] = _TAKES["add"]
_TAKES["send-pack"] = _TAKES["push"]


class GitCall:
    """A call of git: subcommand, arguments, configuration and working directory."""

    __slots__ = ("_parsed", "args", "config", "cwd", "sub")

    def __init__(self, sub: str, args: tuple[str, ...], cwd: str, config: dict[str, str]) -> None:
        self.sub = sub
        self.args = args
        self.cwd = cwd
        self.config = config
        """Settings of `-c`; names in lower case."""
        self._parsed: ParsedOptions | None = None

    @property
    def parsed(self) -> ParsedOptions:
        """Parsed arguments; parsed on first use, because no rule needs those of most subcommands."""
        if self._parsed is None:
            self._parsed = parse_options(self.args, *_TAKES.get(self.sub, ("", "")))
        return self._parsed


def git_call(command: Command, *subs: str) -> GitCall | None:
    """Return the call of git if it is one of these subcommands, else None."""
    if "git" not in command.cache:
        command.cache["git"] = _read(command) if which_program(command, "git") else None
    known = command.cache["git"]
    return known if isinstance(known, GitCall) and known.sub in subs else None


def _read(command: Command) -> GitCall | None:
    config: dict[str, str] = {}
    cwd, args = command.cwd, list(reversed(command.args))
    while args and args[-1].startswith("-"):
        name, equals, value = args.pop().partition("=")
        if name in ("--help", "-h", "--version", "-v"):
            return None
        if name in _GLOBAL_VALUES and not equals:
            value = args.pop() if args else ""
        if name == "-C":
            cwd = absolute(value, cwd)
        elif name == "-c":
            key, _, setting = value.partition("=")
            config[key.lower()] = setting
    if not args:
        return None
    sub, rest = args.pop(), args[::-1]
    alias = config.get("alias." + sub.lower(), "")
    if alias and not alias.startswith("!"):
        sub, *rest = [*_split(alias), *rest]
    if "--help" in rest or rest[:1] == ["-h"]:
        return None
    return GitCall(sub, tuple(rest), cwd, config)


def everything(pathspecs: list[str], cwd: str) -> str | None:
    """Return the pathspec that includes the whole directory or more; None if none does. Exclusions alone do, too."""
    kinds = [_magic(spec) for spec in pathspecs]
    for spec, (magic, path) in zip(pathspecs, kinds, strict=True):
        if not magic & {"exclude", "attr"} and _all_of_it(path, cwd):
            return spec
    return pathspecs[0] if kinds and all("exclude" in magic for magic, _ in kinds) else None


def _split(alias: str) -> list[str]:
    try:
        return shlex.split(alias)
    except ValueError:
        return alias.split()


def _magic(spec: str) -> tuple[set[str], str]:
    """Split `:(top,exclude)path` and its short forms into magic words and path."""
    if long := re.match(r":\(([^)]*)\)", spec):
        return {word.partition(":")[0].strip() for word in long[1].split(",")}, spec[long.end() :]
    if short := re.match(r":([/!^]*):?", spec):
        return {"top" if sign == "/" else "exclude" for sign in short[1]}, spec[short.end() :]
    return set(), spec


def _all_of_it(path: str, cwd: str) -> bool:
    if not is_fully_known(path):
        return False
    parts = posixpath.normpath(to_source(path) or ".").split("/")
    if parts[0]:
        if path == f".{STAR}" or all(part in (".", "..", *_STARS) for part in parts):  # before 5.2, bash includes `.`
            return True
        return parts[0] == ".." and absolute("/".join(parts), cwd) == cwd
    while parts[-1] in _STARS:
        parts.pop()
    place = "/".join(parts)
    return cwd == place or cwd.startswith(place + "/")
