"""Deeds that other tools name by a pattern of text (`rm -rf /`, `dd if=`): found in what would run, not in the text.

Each is a question about one Command. `deed` makes a rule of one, which speaks the words that the other tool fixes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from nacre.patterns import later
from nacre.policy.paths import Kind, precious
from nacre.policy.rule import Around, FindsInScript, Hit, Rule
from nacre.policy.rules import fork_bomb
from nacre.shell.command import Command, Script
from nacre.shell.state import absolute
from nacre.shell.text import globbed
from nacre.verdict import Decision

Deed: TypeAlias = Callable[[Command, Around], bool]
_HERE = later(r"^(?:\./+)+")


def deed(
    id: str, wording: str, does: Deed | None = None, *, in_script: FindsInScript | None = None, instead: str = ""
) -> Rule:
    """A rule that refuses it in exactly these words."""

    def finds(command: Command, around: Around) -> Hit | None:
        return Hit() if does is not None and does(command, around) else None

    return Rule(
        id=id,
        decision=Decision.REFUSE,
        reason=wording,
        instead=instead,
        finds=None if does is None else finds,
        in_script=in_script,
        wording=wording,
    )


def removes_tree(command: Command, _: Around) -> bool:
    return command.runs("rm") and command.has("-r", "-R", "--recursive")


def removes_root(command: Command, around: Around) -> bool:
    """With all that is in it."""
    return removes_tree(command, around) and _names_root(command, around)


def removes_the_root_itself(command: Command, around: Around) -> bool:
    """`rm /`, recursive or not."""
    return command.runs("rm") and _names_root(command, around)


def removes_outside(*beginnings: str) -> Deed:
    """The root itself, or by its full name what is neither in the working directory nor in one that begins so."""

    def does(command: Command, around: Around) -> bool:
        if not command.runs("rm"):
            return False
        named = [absolute(target, command.cwd) for target in command.operands() if target.startswith("/")]
        inside = (*beginnings, *(f"{cwd}/" for cwd in (around.cwd, command.cwd) if cwd.strip("/")))
        return _names_root(command, around) or any(not path.startswith(inside) for path in named)

    return does


def removes_by_force(command: Command, around: Around) -> bool:
    return removes_tree(command, around) and command.has("-f", "--force")


def removes_as_root(command: Command, _: Around) -> bool:
    return command.runs("rm") and any(name in ("sudo", "doas", "su") for name in command.via)


def _names_root(command: Command, around: Around) -> bool:
    places = [precious(target, command, around) for target in command.operands()]
    return any(place is not None and place.kind is Kind.ROOT for place in places)


def removes_by_name(*names: str) -> Deed:
    """With all that is in it: what is called so, wherever it is removed from. A `*` here is a glob, not a character."""
    meant = {globbed(name) for name in names}

    def does(command: Command, around: Around) -> bool:
        if not removes_tree(command, around):
            return False
        return any(_HERE.sub("", target).rstrip("/") in meant for target in command.operands())

    return does


def makes_filesystem(command: Command, _: Around) -> bool:
    return command.runs("mkfs") or command.name.startswith("mkfs.")


def partitions(command: Command, _: Around) -> bool:
    return command.runs("fdisk", "cfdisk", "sfdisk")


def copies(source: str = "", target: str = "") -> Deed:
    """`dd` from, or to, a file whose name begins so; with neither, from anywhere."""

    def does(command: Command, _: Around) -> bool:
        if not command.runs("dd"):
            return False
        words = dict(word.partition("=")[::2] for word in command.args if "=" in word)
        read, written = words.get("if"), words.get("of")
        if target:
            return written is not None and absolute(written, command.cwd).startswith(target)
        return read is not None and absolute(read, command.cwd).startswith(source or "/")

    return does


def redirects_to(*beginnings: str) -> Deed:
    """Output into a file whose name begins so."""

    def does(command: Command, _: Around) -> bool:
        opened = [absolute(each.target, command.cwd) for each in command.redirects if each.writes]
        return any(path.startswith(beginnings) for path in opened)

    return does


def opens_to_all(command: Command, _: Around) -> bool:
    """`chmod -R 777`."""
    return command.runs("chmod") and command.has("-R", "--recursive") and any(m in command.args for m in _EVERYBODY)


_EVERYBODY = ("777", "0777", "a+rwx", "a=rwx", "ugo+rwx", "ugo=rwx", "+rwx")


def chained_to(name: str, *operators: str) -> FindsInScript:
    """Such a command right after one of these."""

    def finds(script: Script, _: Around) -> tuple[int, int, Hit] | None:
        for command in script.commands:
            if command.runs(name) and not command.calls and _before(script, command, _BETWEEN).endswith(operators):
                return command.start, command.end, Hit()
        return None

    return finds


def substituted(name: str) -> FindsInScript:
    """Such a command in what another one is given: `$(…)`, `<(…)`, backquotes."""

    def finds(script: Script, _: Around) -> tuple[int, int, Hit] | None:
        open_: list[Command] = []
        for command in sorted(script.commands, key=lambda each: (each.start, -each.end)):
            while open_ and open_[-1].end < command.end:
                open_.pop()
            if command.runs(name) and not command.calls and _given(command, script, open_):
                return command.start, command.end, Hit()
            if command.argv or _ASSIGNS.match(script.text, command.start):  # else it is the redirection of a group
                open_.append(command)
        return None

    return finds


def _given(command: Command, script: Script, around: list[Command]) -> bool:
    return _before(script, command).endswith(_OPENS) or any(not _wraps(each, command) for each in around)


def _before(script: Script, command: Command, between: str | None = None) -> str:
    return script.text[max(0, command.start - _NEAR) : command.start].rstrip(between)


def _wraps(outer: Command, command: Command) -> bool:
    parent = command.parent
    while parent is not None and parent is not outer:
        parent = parent.parent
    return parent is outer or (outer.start, outer.end) == (command.start, command.end)


_ASSIGNS = later(r"[A-Za-z_]\w*(?:\[[^]\n]{0,100}\])?\+?=")
_OPENS = ("$(", "<(", ">(", "`")
_NEAR = 1000
"""Characters before a command that are looked at."""
_BETWEEN = " \t\r\n({!"
"""What may stand between an operator and the command after it."""

fork_bombs = fork_bomb.in_script
"""A function that starts itself twice."""
