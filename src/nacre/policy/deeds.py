"""Deeds that other tools name by a pattern of text (`rm -rf /`, `dd if=`): found in what would run, not in the text.

Each is a question about one Command. `deed` makes a rule of one, which speaks the words that the other tool fixes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from nacre.patterns import later
from nacre.policy.paths import Kind, precious
from nacre.policy.rule import Around, FindsInScript, Hit, Rule
from nacre.policy.rules import decode_to_shell, disk_write, download_to_shell, fork_bomb, netcat_shell
from nacre.policy.shells import pipes, takes_orders
from nacre.policy.writes import Deed as Change
from nacre.policy.writes import changes
from nacre.shell.command import Command, Opened, Script
from nacre.shell.state import absolute
from nacre.shell.text import DOWNLOADED, globbed
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


def copies_device(command: Command, around: Around) -> bool:
    """`dd` from a device, or onto one. What is piped into it, without `if=`, may go to `/dev/null`."""
    onto = "/dev/" if any(word.startswith("if=") for word in command.args) else "/dev/sd"
    return copies(source="/dev/")(command, around) or copies(target=onto)(command, around)


def redirects_to(*beginnings: str) -> Deed:
    """Output into a file whose name begins so."""

    def does(command: Command, _: Around) -> bool:
        opened = [absolute(each.target, command.cwd) for each in command.redirects if each.writes]
        return any(path.startswith(beginnings) for path in opened)

    return does


def writes_disk(command: Command, around: Around) -> bool:
    """Past its filesystem, in whatever way."""
    return redirects_to("/dev/sd")(command, around) or disk_write.finds(command, around) is not None


def fills(*beginnings: str) -> Deed:
    """The same by whatever writes there: `tee`, `cp`. Not `dd`: that is `copies`."""

    def does(command: Command, _: Around) -> bool:
        filled = [absolute(target, command.cwd) for change, target in changes(command) if change is Change.FILLS]
        return not command.runs("dd") and any(path.startswith(beginnings) for path in filled)

    return does


def opens_to_all(command: Command, _: Around) -> bool:
    """`chmod -R 777`."""
    return command.runs("chmod") and command.has("-R", "--recursive") and any(map(_EVERYBODY.fullmatch, command.args))


_EVERYBODY = later(r"[0-7]{0,2}777|(?:a|ugo)?[+=]rwx")


def runs_download(command: Command, around: Around) -> bool:
    """Text from the network, as far as it can be followed."""
    return download_to_shell.finds(command, around) is not None


def pipes_download(script: Script, _: Around) -> tuple[int, int, Hit] | None:
    """… and what a program that nobody knows has made of it: `curl … | filter | bash`."""
    fed: dict[int, int] = {}
    for left, right in pipes(script):
        if left.start in fed or left.runs("curl", "wget") or DOWNLOADED in (left.stdin or ""):
            fed[right.start] = fed.get(left.start, left.start)
            if takes_orders(right):
                return fed[right.start], right.end, Hit()
    return None


fork_bombs = fork_bomb.in_script
"""A function that starts itself twice."""


def unless(program: str, does: Deed) -> Deed:
    """The deed, done by any other program."""
    return lambda command, around: not command.runs(program) and does(command, around)


def within(piece: str, does: Deed) -> FindsInScript:
    """The deed, in a text that has this piece in it, wherever that stands."""

    def in_script(script: Script, around: Around) -> tuple[int, int, Hit] | None:
        if piece not in script.text:
            return None
        done = (each for each in script.commands if not each.calls and does(each, around))
        return next(((each.start, each.end, Hit()) for each in done), None)

    return in_script


def forks_without_end(command: Command, around: Around) -> bool:
    """The same in another language: `perl -e 'fork while fork'`."""
    return fork_bomb.finds(command, around) is not None


def serves_program(command: Command, around: Around) -> bool:
    """`nc -e /bin/…`: a program of the system, or a shell wherever it lies, for whoever is at the other end."""
    if not command.runs(*netcat_shell.RULE.commands):
        return False
    named = command.name != "socat" and any("/bin/" in program for _, program in netcat_shell.started(command))
    return named or netcat_shell.finds(command, around) is not None


serves_shell = netcat_shell.in_script
"""`sh -i | nc host port`."""


def runs_decoded(command: Command, around: Around) -> bool:
    """Text that came out of base64 or its like."""
    return decode_to_shell.finds(command, around) is not None


def pipes_base64(script: Script, around: Around) -> tuple[int, int, Hit] | None:
    """`base64 … | bash`, decoded or not."""
    for left, right in pipes(script):
        if left.runs("base64", "gbase64") and takes_orders(right):
            return left.start, right.end, Hit()
    return None


def in_any_case(does: Deed) -> Deed:
    """Also in capitals: there are file systems on which `RM` is `rm`."""

    def either(command: Command, around: Around) -> bool:
        if does(command, around):
            return True
        words = tuple(word.lower() for word in command.argv)
        targets = [each.target for each in command.redirects]
        if words == command.argv and targets == [target.lower() for target in targets]:
            return False
        opened = tuple(Opened(each.descriptor, each.operator, each.target.lower()) for each in command.redirects)
        lower = Command(words, command.start, command.end, cwd=command.cwd, home=command.home)
        lower.redirects, lower.settled = opened, command.settled
        return does(lower, around)

    return either
