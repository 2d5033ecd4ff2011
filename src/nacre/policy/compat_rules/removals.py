"""Deeds of `rm` that other tools name by a pattern of text (`rm -rf /`): each is a question about one Command.

See `deeds`, which makes rules of them.
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
    return command.runs("rm") and command.has_flag("-r", "-R", "--recursive")


def removes_root(command: Command, around: CheckContext) -> bool:
    """With all that is in it."""
    return removes_tree(command, around) and _names_root(command, around)


def removes_system(command: Command, around: CheckContext) -> bool:
    """The root, one of the directories that a system consists of (`/etc`, `/usr`, `/var`), or what lies in those that
    are nobody else's."""
    if not removes_tree(command, around):
        return False
    return _names_root(command, around) or any(_is_system(target, command, around) for target in command.operands())


def _is_system(target: str, command: Command, around: CheckContext) -> bool:
    place = protected_place(target, command, around)
    known = with_unknowns_empty(target) == target  # `$X/lib` is the system's only if X is empty
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
    """The root itself, or by its full name what is neither in the working directory nor in one that begins so. Where
    the command goes by itself does not count, and a system's directory is nobody's working directory."""

    def does(command: Command, around: CheckContext) -> bool:
        if not command.runs("rm"):
            return False
        named = [absolute(target, command.cwd) for target in command.operands() if target.startswith("/")]
        top = around.cwd.strip("/").partition("/")[0]
        inside = (*beginnings, *([f"{around.cwd}/"] if top and top not in _SYSTEM_ONLY_NAMES else []))
        return _names_root(command, around) or any(not path.startswith(inside) for path in named)

    return does


def removes_by_force(command: Command, around: CheckContext) -> bool:
    return removes_tree(command, around) and command.has_flag("-f", "--force")


def removes_as_root(command: Command, _: CheckContext) -> bool:
    return command.runs("rm") and any(name in ("sudo", "doas", "su") for name in command.via)


def _names_root(command: Command, around: CheckContext) -> bool:
    places = [protected_place(target, command, around) for target in command.operands()]
    return any(place is not None and place.kind is PlaceKind.ROOT for place in places)


def removes_here(*globs: str) -> Action:
    """With all that is in it: what one of these globs names in the directory where the command runs."""
    meant = {mark_globs(glob) for glob in globs}

    def does(command: Command, around: CheckContext) -> bool:
        if not removes_tree(command, around):
            return False
        return any(_HERE.sub("", target).rstrip("/") in meant for target in command.operands())

    return does


def removes_history(command: Command, around: CheckContext) -> bool:
    """A `.git`, or all that is in it, by whatever path."""
    return removes_tree(command, around) and any(map(_is_history, command.operands()))


def _is_history(target: str) -> bool:
    names = [name for name in target.split("/") if name]
    while names and names[-1] in _ANYTHING:
        names.pop()
    return bool(names) and names[-1].startswith(".") and may_equal(names[-1], ".git")  # no `*` stands for a first dot


_ANYTHING = (".", mark_globs("*"), mark_globs(".*"))
