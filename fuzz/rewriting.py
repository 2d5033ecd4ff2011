"""Check that rewriting a command does not change its verdict: quotes, spacing, line continuation, groups, conditions
that hold, wrappers without effect, and scripts passed to a shell."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache
from shlex import quote

from fuzz.corpus import commands
from nacre import check
from nacre.shell import read
from nacre.verdict import Verdict

_CWD = "/home/dev/project"
_PLAIN = re.compile(r"[\w./=:@,+-]+(?: [\w./=:@,+-]+)*")
"""Words without special meaning, separated by one space."""
_RESERVED = ("coproc", "time")
"""Words whose meaning changes if they are quoted or stand behind a wrapper."""
_BETWEEN = "\x1e"
"""Separator of the command and its rewritten form, in a case."""


@cache
def list_complete_commands() -> list[str]:
    """Return the commands that can be followed by others: nothing is left open at their end."""
    return [command for command in commands() if _is_complete(command)]


class Rewriting:
    def __init__(self) -> None:
        self._commands = list_complete_commands()

    def close(self) -> None:
        pass

    def invent(self, seed: int) -> str:
        made = random.Random(seed)
        command = made.choice(self._commands)
        text = command
        for _ in range(made.choice((1, 1, 2, 3))):
            text = _rewrite_command(text, made)
        return command + _BETWEEN + text

    def wrong(self, case: str) -> str:
        command, _, text = case.partition(_BETWEEN)
        return differs(command, check_command(command), text)


def check_command(command: str) -> Verdict:
    return check(command, cwd=_CWD)


def differs(command: str, before: Verdict, text: str) -> str:
    """Return how the verdict of a rewritten command differs; empty if it does not."""
    after = check_command(text)
    stricter = after.decision.strictness > before.decision.strictness
    if before.decision is after.decision or after.rule == "too-complex":
        return ""
    if stricter and any(each in text for each in _TRUE_CONDITIONS):
        return ""
    return f"{command!r} is {before.decision} ({before.rule}), and {text!r} is {after.decision} ({after.rule})"


def _is_complete(command: str) -> bool:
    script = read(command, cwd=_CWD, home="/home/dev")
    ends = (
        command.rstrip() == command and not command.endswith(("\\", "&")) and "<<" not in command and "#" not in command
    )
    return (
        ends
        and not (script.syntax_error or script.maybe_syntax_error or script.gave_up or script.env_runs_code)
        and "\n" not in command
    )


def steps(text: str) -> Iterator[str]:
    """Yield every result of one rewriting step, other than rewritten words."""
    if _is_plain(text):
        yield from (wrapper + text for wrapper in _WRAPPERS)
    yield from (_run(template, text) for template in _texts(text))
    yield from (template.replace("@@", text) for template in _surroundings(text))


def _rewrite_command(text: str, made: random.Random) -> str:
    if _is_plain(text) and made.random() < 0.6:
        if made.random() < 0.3:
            return made.choice(_WRAPPERS) + text
        words = [_rewrite_word(word, made) + made.choice((" ", "  ", "\t", " \\\n")) for word in text.split(" ")]
        return "".join(words).strip(" \t\\\n")
    if made.random() < 0.4:
        return _run(made.choice(_texts(text)), text)
    return made.choice(_surroundings(text)).replace("@@", text)


def _is_plain(text: str) -> bool:
    first = text.partition(" ")[0]
    return _PLAIN.fullmatch(text) is not None and first not in _RESERVED and "=" not in first


def _texts(text: str) -> tuple[str, ...]:
    return _TEXTS[:-1] if "{}" in text else _TEXTS


def _run(template: str, text: str) -> str:
    return template.replace("run_", f"run_{len(text)}").replace("@@", quote(text))


def _surroundings(text: str) -> tuple[str, ...]:
    return _LINE_TEMPLATES if text.endswith(("\n", ";")) or "#" in text else _INLINE_TEMPLATES + _LINE_TEMPLATES


def _rewrite_word(word: str, made: random.Random) -> str:
    at = made.randrange(len(word))
    ways = [
        word,
        word,
        f"'{word}'",
        f'"{word}"',
        f"{word[:at]}''{word[at:]}",
        f"{word[:at]}\\\n{word[at:]}",
        f"$'{word}'",
        f'{word[:at]}"{word[at:]}"',
    ]
    if word[at] not in "\\\n" and word[at : at + 1].isalpha():
        ways.append(f"{word[:at]}\\{word[at:]}")
    return made.choice(ways)


_WRAPPERS = (
    "sudo ", "sudo -u x ", "sudo -E ", "sudo -n -- ", "sudo A=1 ", "env ", "env -i ", "env -u A ", "env A=1 ",
    "env -i A=1 B=2 ", "env -- ", "nice ", "nice -n 5 ", "nice -5 ", "timeout 99 ", "timeout 5 ", "timeout -k 1 5 ",
    "timeout --signal=KILL 5 ", "nohup ", "command ", "command -p ", "time ", "time -p ", "setsid ", "stdbuf -oL ",
    "ionice -c 3 ", "sudo env A=1 nice -n 5 timeout 5 ",
)  # fmt: skip
"""Wrappers that run the words that follow without changing their effect."""
_TRUE_CONDITIONS = ("cd . && ", "[ -n x ] && ", "echo hi && ")
"""Conditions before the command. It may then not be the first to run (`cd . && D=build; rm -rf "$D"/*`), so the verdict
may be stricter, but never laxer."""
_LINE_TEMPLATES = (
    "{\n@@\n}", "(\n@@\n)", "if true; then\n@@\nfi", "\n@@", "true; @@", "true && @@", "for i in 1; do\n@@\ndone",
    ":;@@", "  @@", "while true; do\n@@\nbreak; done", "f() {\n@@\n}; f", "case x in x)\n@@\nesac",
    *(f"{each}@@" for each in _TRUE_CONDITIONS),
)  # fmt: skip
_INLINE_TEMPLATES = (
    "{ @@; }", "( @@ )", "if true; then @@; fi", "@@  ", "@@\n", "@@;", "@@ # as it should be", "@@; true",
    "for i in 1; do @@; done", "while true; do @@; break; done", "case x in x) @@;; esac", "f() { @@; }; f",
    "! { @@; }", "until false; do @@; break; done", "false || { @@; }",
)  # fmt: skip
_TEXTS = (
    "eval @@", 'text_=@@; eval "$text_"', 'text_=@@; run_=text_; eval "${!run_}"', "bash -c @@", "sudo bash -c @@",
    "timeout 9 bash -c @@", "text_=(bash -c @@); \"${text_[@]}\"", "export text_=@@; bash -c 'eval \"$text_\"'",
    "bash <<< @@", "echo @@ | bash", "printf '%s\\n' @@ > z.sh; bash z.sh",
    "source <(echo @@)", "trap @@ EXIT", "run_() { eval @@; }; run_", "run_() { \"$@\"; }; run_ bash -c @@",
    "shopt -s expand_aliases\nalias run_=@@\nrun_", "echo k | xargs -IXYZZY bash -c @@",
    "find . -maxdepth 0 -exec bash -c @@ \\;",
)  # fmt: skip
"""Scripts that run a text given as one word. `find` is the last: it would replace `{}` by a path."""
