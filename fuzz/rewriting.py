"""Writing a command in another way does not change what is said of it: quotes, spacing, line continuation, groups,
conditions that hold, wrappers that change nothing, texts that a shell is given to run."""

from __future__ import annotations

import random
import re
from functools import cache
from shlex import quote

from fuzz.corpus import commands
from nacre import check
from nacre.shell import read

_CWD = "/home/dev/project"
_PLAIN = re.compile(r"[\w./=:@,+-]+(?: [\w./=:@,+-]+)*")
"""Words that mean what they say, with one blank between them."""
_RESERVED = ("coproc", "time")
"""Words that are others when they are quoted, or stand behind a wrapper."""
_BETWEEN = "\x1e"
"""Between the command and what was made of it, in a case."""


class Rewriting:
    def __init__(self) -> None:
        self._commands = _whole()

    def close(self) -> None:
        pass

    def invent(self, seed: int) -> str:
        made = random.Random(seed)
        command = made.choice(self._commands)
        text = command
        for _ in range(made.choice((1, 1, 2, 3))):
            text = _rewritten(text, made)
        return command + _BETWEEN + text

    def wrong(self, case: str) -> str:
        command, _, text = case.partition(_BETWEEN)
        before, after = (check(each, cwd=_CWD) for each in (command, text))
        if before.decision is after.decision or after.rule == "too-complex":
            return ""
        return f"{command!r} is {before.decision} ({before.rule}), and {text!r} is {after.decision} ({after.rule})"


@cache
def _whole() -> list[str]:
    return [command for command in commands() if _is_whole(command)]


def _is_whole(command: str) -> bool:
    """Nothing is left open at its end, so that something can follow."""
    script = read(command, cwd=_CWD, home="/home/dev")
    ends = (
        command.rstrip() == command and not command.endswith(("\\", "&")) and "<<" not in command and "#" not in command
    )
    return ends and not (script.broken or script.doubtful or script.closed or script.foreign) and "\n" not in command


def _rewritten(text: str, made: random.Random) -> str:
    words = text.split(" ")
    if _PLAIN.fullmatch(text) and words[0] not in _RESERVED and made.random() < 0.6:
        if made.random() < 0.3 and "=" not in words[0]:
            return made.choice(_WRAPPERS) + text
        if "=" not in words[0]:
            return "".join(_written(word, made) + made.choice((" ", "  ", "\t", " \\\n")) for word in words).strip(
                " \t\\\n"
            )
    if made.random() < 0.4:
        around = made.choice(_TEXTS[:-1] if "{}" in text else _TEXTS)
        return around.replace("run_", f"run_{len(text)}").replace("@@", quote(text))
    if text.endswith(("\n", ";")) or "#" in text:
        return made.choice(_AROUND_LINES).replace("@@", text)
    return made.choice(_AROUND + _AROUND_LINES).replace("@@", text)


def _written(word: str, made: random.Random) -> str:
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
"""What runs the words that follow, and changes nothing about what they do."""
_AROUND_LINES = (
    "{\n@@\n}", "(\n@@\n)", "if true; then\n@@\nfi", "\n@@", "true; @@", "true && @@", "for i in 1; do\n@@\ndone",
    ":;@@", "  @@", "while true; do\n@@\nbreak; done", "f() {\n@@\n}; f", "case x in x)\n@@\nesac",
)  # fmt: skip
_AROUND = (
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
"""What runs a text that stands in it as one word. `find` is the last: it would put a path in place of `{}`."""
