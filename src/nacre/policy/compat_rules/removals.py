"""Deeds of `rm` that other tools name by a pattern of text (`rm -rf /`): each is a question about one Command.

See `deeds`, which makes rules of them.
"""

from __future__ import annotations

from nacre.base.lazy_regex import later
from nacre.policy.compat_rules.actions import Deed
from nacre.policy.facts.precious_paths import SYSTEM, Kind, lies_in, precious
from nacre.policy.rule import Around
from nacre.shell.command import Command
from nacre.shell.interpreter.state import absolute
from nacre.shell.symbolic import could_be, globbed, least

_HERE = later(r"^(?:\./+)+")


def removes_tree(command: Command, _: Around) -> bool:
    return command.runs("rm") and command.has("-r", "-R", "--recursive")


def removes_root(command: Command, around: Around) -> bool:
    """With all that is in it."""
    return removes_tree(command, around) and _names_root(command, around)


def removes_system(command: Command, around: Around) -> bool:
    """The root, one of the directories that a system consists of (`/etc`, `/usr`, `/var`), or what lies in those that
    are nobody else's."""
    if not removes_tree(command, around):
        return False
    return _names_root(command, around) or any(_is_system(target, command, around) for target in command.operands())


def _is_system(target: str, command: Command, around: Around) -> bool:
    place = precious(target, command, around)
    known = least(target) == target  # `$X/lib` is the system's only if X is empty
    return (known and place is not None and place.kind is Kind.SYSTEM) or lies_in(target, command, *_THE_SYSTEMS)


_THE_SYSTEMS = (
    "/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/sbin", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/sbin",
)  # fmt: skip


_NOBODYS = SYSTEM - {"home", "tmp", "opt", "srv", "mnt", "media", "Users", "Volumes", "private", "var", "root"}


def removes_outside(*beginnings: str) -> Deed:
    """The root itself, or by its full name what is neither in the working directory nor in one that begins so. Where
    the command goes by itself does not count, and a system's directory is nobody's working directory."""

    def does(command: Command, around: Around) -> bool:
        if not command.runs("rm"):
            return False
        named = [absolute(target, command.cwd) for target in command.operands() if target.startswith("/")]
        top = around.cwd.strip("/").partition("/")[0]
        inside = (*beginnings, *([f"{around.cwd}/"] if top and top not in _NOBODYS else []))
        return _names_root(command, around) or any(not path.startswith(inside) for path in named)

    return does


def removes_by_force(command: Command, around: Around) -> bool:
    return removes_tree(command, around) and command.has("-f", "--force")


def removes_as_root(command: Command, _: Around) -> bool:
    return command.runs("rm") and any(name in ("sudo", "doas", "su") for name in command.via)


def _names_root(command: Command, around: Around) -> bool:
    places = [precious(target, command, around) for target in command.operands()]
    return any(place is not None and place.kind is Kind.ROOT for place in places)


def removes_here(*globs: str) -> Deed:
    """With all that is in it: what one of these globs names in the directory where the command runs."""
    meant = {globbed(glob) for glob in globs}

    def does(command: Command, around: Around) -> bool:
        if not removes_tree(command, around):
            return False
        return any(_HERE.sub("", target).rstrip("/") in meant for target in command.operands())

    return does


def removes_history(command: Command, around: Around) -> bool:
    """A `.git`, or all that is in it, by whatever path."""
    return removes_tree(command, around) and any(map(_is_history, command.operands()))


def _is_history(target: str) -> bool:
    names = [name for name in target.split("/") if name]
    while names and names[-1] in _ANYTHING:
        names.pop()
    return bool(names) and names[-1].startswith(".") and could_be(names[-1], ".git")  # no `*` stands for a first dot


_ANYTHING = (".", globbed("*"), globbed(".*"))
