"""Commands that delete trees: `rm -r`, and node's programs for the same. Pure."""

from __future__ import annotations

from nacre.shell.command import Command
from nacre.shell.symbolic import mark_globs

NODES = ("rimraf", "rimraf@*", "del", "del-cli", "del-cli@*")
"""Programs that delete directories without an option, and expand quoted globs. `npx` may name a version of theirs."""


def deletes_trees(command: Command) -> bool:
    """Return whether a command deletes directories recursively."""
    return command.has_flag("-r", "-R", "--r", "--recursive") or _is_nodes(command)


def trees(command: Command) -> list[str]:
    """Return the directories that are deleted recursively."""
    if command.name != "rm" and _is_nodes(command):
        return [mark_globs(each) for each in command.operands() if each[:1] != "!"]
    return command.operands()


def _is_nodes(command: Command) -> bool:
    return command.name.partition("@")[0] in NODES
