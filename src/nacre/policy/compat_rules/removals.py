"""Uses of `rm` that other tools name by a text pattern (`rm -rf /`): predicates on one Command.

`actions.action_rule` makes rules of them.
"""

from __future__ import annotations

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.compat_rules.actions import Action
from nacre.policy.facts.precious_paths import SYSTEM, PlaceKind, lies_in, protected_place
from nacre.policy.rule import CheckContext
from nacre.shell.command import Command
from nacre.shell.paths import absolute
from nacre.shell.symbolic import mark_globs, may_equal, with_unknowns_empty

_HERE = lazy_regex(r"^(?:\./+)+")


def removes_tree(command: Command, _: CheckContext) -> bool:
    """Match `rm -r`."""
    return command.runs("rm") and command.has_flag("-r", "-R", "--recursive")


def removes_root(command: Command, context: CheckContext) -> bool:
    """Match `rm -r` of the root directory."""
    return removes_tree(command, context) and _names_root(command, context)


def removes_system(command: Command, context: CheckContext) -> bool:
    """Match `rm -r` of the root, a system directory (`/etc`, `/usr`, `/var`), or anything in `_SYSTEM_DIRECTORIES`."""
    if not removes_tree(command, context):
        return False
    return _names_root(command, context) or any(_is_system(target, command, context) for target in command.operands())


def _is_system(target: str, command: Command, context: CheckContext) -> bool:
    place = protected_place(target, command, context)
    known = with_unknowns_empty(target) == target  # `$X/lib` is a system directory only if X is empty
    return (known and place is not None and place.kind is PlaceKind.SYSTEM) or lies_in(
        target, command, *_SYSTEM_DIRECTORIES
    )


_SYSTEM_DIRECTORIES = (
    "/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/sbin", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/sbin",
)  # fmt: skip


_SYSTEM_ONLY_NAMES = SYSTEM - {
    "home",
    "tmp",
    "opt",
    "srv",
    "mnt",
    "media",
    "Users",
    "Volumes",
    "private",
    "var",
    "root",
}


def removes_outside(*beginnings: str) -> Action:
    """Return an action: `rm` of the root, or of an absolute path outside the working directory and these prefixes.

    The working directory is the caller's, whatever `cd` the script runs; a system directory does not count as one.
    """

    def matches(command: Command, context: CheckContext) -> bool:
        if not command.runs("rm"):
            return False
        named = [absolute(target, command.cwd) for target in command.operands() if target.startswith("/")]
        top = context.cwd.strip("/").partition("/")[0]
        inside = (*beginnings, *([f"{context.cwd}/"] if top and top not in _SYSTEM_ONLY_NAMES else []))
        return _names_root(command, context) or any(not path.startswith(inside) for path in named)

    return matches


def removes_by_force(command: Command, context: CheckContext) -> bool:
    """Match `rm -rf`."""
    return removes_tree(command, context) and command.has_flag("-f", "--force")


def removes_as_root(command: Command, _: CheckContext) -> bool:
    """Match `rm` under sudo, doas or su."""
    return command.runs("rm") and any(name in ("sudo", "doas", "su") for name in command.via)


def _names_root(command: Command, context: CheckContext) -> bool:
    places = [protected_place(target, command, context) for target in command.operands()]
    return any(place is not None and place.kind is PlaceKind.ROOT for place in places)


def removes_here(*globs: str) -> Action:
    """Return an action: `rm -r` of one of these globs in the directory where the command runs."""
    meant = {mark_globs(glob) for glob in globs}

    def matches(command: Command, context: CheckContext) -> bool:
        if not removes_tree(command, context):
            return False
        return any(_HERE.sub("", target).rstrip("/") in meant for target in command.operands())

    return matches


def removes_history(command: Command, context: CheckContext) -> bool:
    """Match `rm -r` of a `.git` directory, or of everything in it, at any path."""
    return removes_tree(command, context) and any(map(_is_history, command.operands()))


def _is_history(target: str) -> bool:
    names = [name for name in target.split("/") if name]
    while names and names[-1] in _ANYTHING:
        names.pop()
    return bool(names) and names[-1].startswith(".") and may_equal(names[-1], ".git")  # `*` matches no leading dot


_ANYTHING = (".", mark_globs("*"), mark_globs(".*"))
