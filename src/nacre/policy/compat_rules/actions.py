"""Deeds that other tools name by a pattern of text (`dd if=`, `mkfs`): found in what would run, not in the text.

Each is a question about one Command; those about `rm` are in `removals`. `action_rule` makes a rule of one, which
speaks the words that the other tool fixes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.facts.shell_usage import find_pipeline, reads_commands_from_pipe
from nacre.policy.facts.writes import WriteKind as Change
from nacre.policy.facts.writes import changes
from nacre.policy.rule import CheckContext, Hit, MatchScript, Rule
from nacre.policy.rules.git import git_add_blind
from nacre.policy.rules.git._git import git_call
from nacre.policy.rules.process import fork_bomb
from nacre.policy.rules.remote_code import decode_to_shell, download_to_shell, netcat_shell
from nacre.policy.rules.system import disk_write
from nacre.shell import read
from nacre.shell.command import Command, Redirection, Script
from nacre.shell.paths import absolute
from nacre.shell.symbolic import DOWNLOADED
from nacre.verdict import Decision

Action: TypeAlias = Callable[[Command, CheckContext], bool]


def action_rule(
    id: str, wording: str, does: Action | None = None, *, in_script: MatchScript | None = None, instead: str = ""
) -> Rule:
    """A rule that refuses it in exactly these words."""

    def finds(command: Command, around: CheckContext) -> Hit | None:
        return Hit() if does is not None and does(command, around) else None

    return Rule(
        id=id,
        decision=Decision.REFUSE,
        reason=wording,
        instead=instead,
        match=None if does is None else finds,
        match_script=in_script,
        exact_message=wording,
    )


def adds_everything_after_all(command: Command, around: CheckContext) -> bool:
    """`git add` of all there is with a flag for which git-add-blind lets it pass (`-N .`, `-u .`), unless that flag
    says to add nothing."""
    git = git_call(command, "add", "stage")
    if git is None or git.parsed.is_set("-n", "--dry-run") or git.parsed.is_set("--refresh"):
        return False
    return git_add_blind.everything_in(git, command) is not None and git_add_blind.match(command, around) is None


def makes_filesystem(command: Command, _: CheckContext) -> bool:
    return command.runs("mkfs") or command.name.startswith("mkfs.")


def partitions(command: Command, _: CheckContext) -> bool:
    return command.runs("fdisk", "cfdisk", "sfdisk")


def copies(source: str = "", target: str = "") -> Action:
    """`dd` from, or to, a file whose name begins so; with neither, from anywhere."""

    def does(command: Command, _: CheckContext) -> bool:
        if not command.runs("dd"):
            return False
        words = dict(word.partition("=")[::2] for word in command.args if "=" in word)
        read, written = words.get("if"), words.get("of")
        if target:
            return written is not None and absolute(written, command.cwd).startswith(target)
        return read is not None and absolute(read, command.cwd).startswith(source or "/")

    return does


def copies_device(command: Command, around: CheckContext) -> bool:
    """`dd` from a device, or onto one. What is piped into it, without `if=`, may go to `/dev/null`."""
    onto = "/dev/" if any(word.startswith("if=") for word in command.args) else "/dev/sd"
    return copies(source="/dev/")(command, around) or copies(target=onto)(command, around)


def redirects_to(*beginnings: str) -> Action:
    """Output into a file whose name begins so."""

    def does(command: Command, _: CheckContext) -> bool:
        opened = [absolute(each.target, command.cwd) for each in command.redirects if each.writes]
        return any(path.startswith(beginnings) for path in opened)

    return does


def writes_disk(command: Command, around: CheckContext) -> bool:
    """Past its filesystem, in whatever way."""
    return redirects_to("/dev/sd")(command, around) or disk_write.match(command, around) is not None


def fills(*beginnings: str) -> Action:
    """The same by whatever writes there: `tee`, `cp`. Not `dd`: that is `copies`."""

    def does(command: Command, _: CheckContext) -> bool:
        filled = [absolute(target, command.cwd) for change, target in changes(command) if change is Change.WRITE]
        return not command.runs("dd") and any(path.startswith(beginnings) for path in filled)

    return does


def opens_to_all(command: Command, _: CheckContext) -> bool:
    """`chmod -R 777`."""
    return (
        command.runs("chmod")
        and command.has_flag("-R", "--recursive")
        and any(map(_WORLD_MODES.fullmatch, command.args))
    )


_WORLD_MODES = lazy_regex(r"[0-7]{0,2}777|(?:a|ugo)?[+=]rwx")


def runs_download(command: Command, around: CheckContext) -> bool:
    """Text from the network, as far as it can be followed."""
    return download_to_shell.match(command, around) is not None


def pipes_download(script: Script, _: CheckContext) -> tuple[int, int, Hit] | None:
    """… and what a program that nobody knows has made of it: `curl … | filter | bash`."""
    return _fed_to_shell(script, lambda left: left.runs("curl", "wget") or DOWNLOADED in (left.stdin or ""))


def _fed_to_shell(script: Script, begins: Callable[[Command], bool]) -> tuple[int, int, Hit] | None:
    """A pipeline from such a command to a shell, whatever stands between them."""
    return find_pipeline(script, begins, reads_commands_from_pipe, through=True)


def chained_to(name: str, operator: str) -> Action:
    """Such a command, wherever it stands in something that hangs on another command by this operator."""
    return lambda command, _: command.operator_before == operator and command.runs(name)


def inside_substitution(name: str) -> MatchScript:
    """Such a command in what another one is given: `$(…)`, `<(…)`, backquotes."""

    def finds(script: Script, _: CheckContext) -> tuple[int, int, Hit] | None:
        open_: list[Command] = []
        for command in sorted(script.commands, key=lambda each: (each.start, -each.end)):
            while open_ and open_[-1].end < command.end:
                open_.pop()
            if command.runs(name) and not command.is_function_call and _is_substituted(command, script, open_):
                return command.start, command.end, Hit()
            if command.argv or _ASSIGNS.match(script.text, command.start):  # else it is the redirection of a group
                open_.append(command)
        return None

    return finds


def _is_substituted(command: Command, script: Script, around: list[Command]) -> bool:
    return _text_before(script, command).endswith(_OPENS) or any(not _wraps(each, command) for each in around)


def _text_before(script: Script, command: Command) -> str:
    return script.text[max(0, command.start - _TEXT_BEFORE_CHARS) : command.start].rstrip()


def _wraps(outer: Command, command: Command) -> bool:
    parent = command.parent
    while parent is not None and parent is not outer:
        parent = parent.parent
    return parent is outer or (outer.start, outer.end) == (command.start, command.end)


_ASSIGNS = lazy_regex(r"[A-Za-z_]\w*(?:\[[^]\n]{0,100}\])?\+?=")
_OPENS = ("$(", "${", "${|", "<(", ">(", "`")
_TEXT_BEFORE_CHARS = 1000
"""Characters before a command that are looked at."""

fork_bombs = fork_bomb.match_script
"""A function that starts itself twice."""


def except_program(program: str, does: Action) -> Action:
    """The deed, done by any other program."""
    return lambda command, around: not command.runs(program) and does(command, around)


def in_text_with(piece: str, does: Action) -> MatchScript:
    """The deed, in a text that has this piece in it, wherever that stands."""

    def in_script(script: Script, around: CheckContext) -> tuple[int, int, Hit] | None:
        if piece not in script.text:
            return None
        done = (each for each in script.commands if not each.is_function_call and does(each, around))
        return next(((each.start, each.end, Hit()) for each in done), None)

    return in_script


def forks_without_end(command: Command, around: CheckContext) -> bool:
    """The same in another language: `perl -e 'fork while fork'`."""
    return fork_bomb.match(command, around) is not None


def serves_program(command: Command, around: CheckContext) -> bool:
    """`nc -e /bin/…`: a program of the system, or a shell wherever it lies, for whoever is at the other end."""
    if not command.runs(*netcat_shell.RULE.commands):
        return False
    named = command.name != "socat" and any("/bin/" in program for _, program in netcat_shell.started_programs(command))
    return named or netcat_shell.match(command, around) is not None


serves_shell = netcat_shell.match_script
"""`sh -i | nc host port`."""


def runs_decoded(command: Command, around: CheckContext) -> bool:
    """Text that came out of base64 or its like."""
    return decode_to_shell.match(command, around) is not None


def pipes_base64(script: Script, _: CheckContext) -> tuple[int, int, Hit] | None:
    """`base64 … | bash`, decoded or not, by whatever way."""
    return _fed_to_shell(script, lambda left: left.runs("base64", "gbase64"))


def in_capitals(does: Action, in_script: MatchScript, *words: str) -> MatchScript:
    """The same in the text as it would be in small letters, if it has these words then: `BASE64 -d x | bash`."""

    def finds(script: Script, around: CheckContext) -> tuple[int, int, Hit] | None:
        text = script.text.lower()
        if text == script.text or not all(word in text for word in words):
            return None
        small = read(text, cwd=around.cwd, home=around.home)
        done = in_script(small, around) or any(
            not each.is_function_call and does(each, around) for each in small.commands
        )
        return (0, len(script.text), Hit()) if done else None

    return finds


def in_any_case(does: Action) -> Action:
    """Also in capitals: there are file systems on which `RM` is `rm`."""

    def either(command: Command, around: CheckContext) -> bool:
        if does(command, around):
            return True
        words = tuple(word.lower() for word in command.argv)
        targets = [each.target for each in command.redirects]
        if words == command.argv and targets == [target.lower() for target in targets]:
            return False
        opened = tuple(Redirection(each.descriptor, each.operator, each.target.lower()) for each in command.redirects)
        lower = Command(words, command.start, command.end, cwd=command.cwd, home=command.home)
        lower.redirects, lower.cwd_certain = opened, command.cwd_certain
        return does(lower, around)

    return either
