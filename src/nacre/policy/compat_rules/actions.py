"""Actions that other tools name by a text pattern (`dd if=`, `mkfs`), matched on what would run, not on the text.

Each is a predicate on one Command; those about `rm` are in `removals`. `action_rule` makes a rule of one, with the
message that the other tool prescribes.
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
    id: str, wording: str, matches: Action | None = None, *, match_script: MatchScript | None = None, instead: str = ""
) -> Rule:
    """Return a rule that refuses an action, with exactly this message."""

    def match(command: Command, context: CheckContext) -> Hit | None:
        return Hit() if matches is not None and matches(command, context) else None

    return Rule(
        id=id,
        decision=Decision.REFUSE,
        reason=wording,
        instead=instead,
        match=None if matches is None else match,
        match_script=match_script,
        exact_message=wording,
    )


def adds_everything_after_all(command: Command, context: CheckContext) -> bool:
    """Match `git add` of everything with a flag that git-add-blind allows (`-N`, `-u`), unless it adds nothing."""
    git = git_call(command, "add", "stage")
    if git is None or git.parsed.is_set("-n", "--dry-run") or git.parsed.is_set("--refresh"):
        return False
    return git_add_blind.everything_in(git, command) is not None and git_add_blind.match(command, context) is None


def makes_filesystem(command: Command, _: CheckContext) -> bool:
    """Match programs that create a file system."""
    return command.runs("mkfs") or command.name.startswith("mkfs.")


def partitions(command: Command, _: CheckContext) -> bool:
    """Match programs that partition a disk."""
    return command.runs("fdisk", "cfdisk", "sfdisk")


def copies(source: str = "", target: str = "") -> Action:
    """Return an action: `dd` from a path with the prefix `source`, or to one with the prefix `target`.

    Without either, `dd` from any file.
    """

    def matches(command: Command, _: CheckContext) -> bool:
        if not command.runs("dd"):
            return False
        words = dict(word.partition("=")[::2] for word in command.args if "=" in word)
        read, written = words.get("if"), words.get("of")
        if target:
            return written is not None and absolute(written, command.cwd).startswith(target)
        return read is not None and absolute(read, command.cwd).startswith(source or "/")

    return matches


def copies_device(command: Command, context: CheckContext) -> bool:
    """Match `dd` from or to a device. Without `if=`, as at the end of a pipe, it may write to `/dev/null`."""
    onto = "/dev/" if any(word.startswith("if=") for word in command.args) else "/dev/sd"
    return copies(source="/dev/")(command, context) or copies(target=onto)(command, context)


def redirects_to(*beginnings: str) -> Action:
    """Return an action: a redirection of output to a path with one of these prefixes."""

    def matches(command: Command, _: CheckContext) -> bool:
        opened = [absolute(each.target, command.cwd) for each in command.redirects if each.writes]
        return any(path.startswith(beginnings) for path in opened)

    return matches


def writes_disk(command: Command, context: CheckContext) -> bool:
    """Match any write to a disk that bypasses its file system."""
    return redirects_to("/dev/sd")(command, context) or disk_write.match(command, context) is not None


def fills(*beginnings: str) -> Action:
    """Return an action: any write to a path with one of these prefixes, as by `tee` or `cp`; for `dd` see `copies`."""

    def matches(command: Command, _: CheckContext) -> bool:
        filled = [absolute(target, command.cwd) for change, target in changes(command) if change is Change.WRITE]
        return not command.runs("dd") and any(path.startswith(beginnings) for path in filled)

    return matches


def opens_to_all(command: Command, _: CheckContext) -> bool:
    """Match `chmod -R 777`."""
    return (
        command.runs("chmod")
        and command.has_flag("-R", "--recursive")
        and any(map(_WORLD_MODES.fullmatch, command.args))
    )


_WORLD_MODES = lazy_regex(r"[0-7]{0,2}777|(?:a|ugo)?[+=]rwx")


def runs_download(command: Command, context: CheckContext) -> bool:
    """Match the execution of text from the network, as far as it can be followed."""
    return download_to_shell.match(command, context) is not None


def pipes_download(script: Script, _: CheckContext) -> tuple[int, int, Hit] | None:
    """Match a download piped to a shell, through any programs between them: `curl … | filter | bash`."""
    return _fed_to_shell(script, lambda left: left.runs("curl", "wget") or DOWNLOADED in (left.stdin or ""))


def _fed_to_shell(script: Script, begins: Callable[[Command], bool]) -> tuple[int, int, Hit] | None:
    """Find a pipeline from a command that `begins` accepts to a shell, through any commands between them."""
    return find_pipeline(script, begins, reads_commands_from_pipe, through=True)


def chained_to(name: str, operator: str) -> Action:
    """Return an action: this program, anywhere in a command that follows another command and this operator."""
    return lambda command, _: command.operator_before == operator and command.runs(name)


def inside_substitution(name: str) -> MatchScript:
    """Return a matcher of this program in another command's `$(…)`, `<(…)` or backquotes."""

    def match(script: Script, _: CheckContext) -> tuple[int, int, Hit] | None:
        open_: list[Command] = []
        for command in sorted(script.commands, key=lambda each: (each.start, -each.end)):
            while open_ and open_[-1].end < command.end:
                open_.pop()
            if command.runs(name) and not command.is_function_call and _is_substituted(command, script, open_):
                return command.start, command.end, Hit()
            if command.argv or _ASSIGNS.match(script.text, command.start):  # otherwise it is a group's redirection
                open_.append(command)
        return None

    return match


def _is_substituted(command: Command, script: Script, context: list[Command]) -> bool:
    return _text_before(script, command).endswith(_OPENS) or any(not _wraps(each, command) for each in context)


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
"""Characters before a command that are searched for an opening substitution."""

fork_bombs = fork_bomb.match_script
"""Matches functions that start themselves twice."""


def except_program(program: str, matches: Action) -> Action:
    """Return the same action, unless this program does it."""
    return lambda command, context: not command.runs(program) and matches(command, context)


def in_text_with(piece: str, matches: Action) -> MatchScript:
    """Return a matcher of the action in scripts whose text contains `piece` anywhere."""

    def match_script(script: Script, context: CheckContext) -> tuple[int, int, Hit] | None:
        if piece not in script.text:
            return None
        done = (each for each in script.commands if not each.is_function_call and matches(each, context))
        return next(((each.start, each.end, Hit()) for each in done), None)

    return match_script


def forks_without_end(command: Command, context: CheckContext) -> bool:
    """Match a fork bomb in another language: `perl -e 'fork while fork'`."""
    return fork_bomb.match(command, context) is not None


def serves_program(command: Command, context: CheckContext) -> bool:
    """Match a netcat that serves its peer a shell, or any program with `/bin/` in its path: `nc -e /bin/…`."""
    if not command.runs(*netcat_shell.RULE.commands):
        return False
    named = command.name != "socat" and any("/bin/" in program for _, program in netcat_shell.started_programs(command))
    return named or netcat_shell.match(command, context) is not None


serves_shell = netcat_shell.match_script
"""Matches `sh -i | nc host port`."""


def runs_decoded(command: Command, context: CheckContext) -> bool:
    """Match the execution of text decoded from base64 and the like."""
    return decode_to_shell.match(command, context) is not None


def pipes_base64(script: Script, _: CheckContext) -> tuple[int, int, Hit] | None:
    """Match `base64 … | bash`, decoding or not, through any programs between them."""
    return _fed_to_shell(script, lambda left: left.runs("base64", "gbase64"))


def in_capitals(matches: Action, match_script: MatchScript, *words: str) -> MatchScript:
    """Return a matcher of the script's text in lower case, if that contains these words: `BASE64 -d x | bash`."""

    def match(script: Script, context: CheckContext) -> tuple[int, int, Hit] | None:
        text = script.text.lower()
        if text == script.text or not all(word in text for word in words):
            return None
        small = read(text, cwd=context.cwd, home=context.home)
        done = match_script(small, context) or any(
            not each.is_function_call and matches(each, context) for each in small.commands
        )
        return (0, len(script.text), Hit()) if done else None

    return match


def in_any_case(matches: Action) -> Action:
    """Return the same action, also matched in lower case: on some file systems `RM` is `rm`."""

    def either(command: Command, context: CheckContext) -> bool:
        if matches(command, context):
            return True
        words = tuple(word.lower() for word in command.argv)
        targets = [each.target for each in command.redirects]
        if words == command.argv and targets == [target.lower() for target in targets]:
            return False
        opened = tuple(Redirection(each.descriptor, each.operator, each.target.lower()) for each in command.redirects)
        lower = Command(words, command.start, command.end, cwd=command.cwd, home=command.home)
        lower.redirects, lower.cwd_certain = opened, command.cwd_certain
        return matches(lower, context)

    return either
