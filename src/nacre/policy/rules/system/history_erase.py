"""history-erase: empties or removes a shell's history file.

Why      it is the user's history, and erasing traces is not part of any task.
Instead  leave it; `history -d` removes a single entry.
Misses   the path in a variable (`> "$HISTFILE"`); `unset HISTFILE` (allowed: it only stops recording); editors.
"""

from __future__ import annotations

from nacre.policy.rule import WRITES, CheckContext, Hit, Rule
from nacre.policy.rules._options import parse_options, render, which_program
from nacre.shell.command import Command
from nacre.shell.symbolic import may_equal
from nacre.verdict import Decision

_FILES = (".bash_history", ".zsh_history", ".zhistory", ".sh_history", ".ash_history", ".ksh_history", "fish_history")
_REMOVERS = ("rm", "unlink", "shred", "truncate")


def match(command: Command, _: CheckContext) -> Hit | None:
    for opened in command.redirects:
        if opened.writes and ">>" not in opened.operator and _is_history(opened.target):
            return Hit(render(*command.argv, opened.operator, opened.target).strip())
    words = " ".join(command.argv)
    if words.isascii() and "history" not in words:  # neither a glob nor one of the names
        return None
    name = which_program(command, "history", *_REMOVERS, "cp", "ln", "tee")
    given = parse_options(command.args, "sr" if name == "truncate" else "", "size= reference= append")
    if name == "history":
        erases = given.has("-c")
    elif name in ("cp", "ln"):
        erases = given.operands[:1] == ["/dev/null"] and any(map(_is_history, given.operands[1:]))
    elif name == "tee":
        erases = not given.is_set("-a", "--append") and any(map(_is_history, given.operands))
    else:
        erases = name != "" and any(map(_is_history, given.operands))
    return Hit(render(*command.argv)) if erases else None


def _is_history(path: str) -> bool:
    last = path.rsplit("/", 1)[-1]
    return last in _FILES or (last[:2] == ".b" and may_equal(last, ".bash_history"))


RULE = Rule(
    id="history-erase",
    decision=Decision.ASK,
    reason="would erase the user's shell history",
    instead="leave it; `history -d` removes a single entry",
    commands=("history", *_REMOVERS, "cp", "ln", "tee", WRITES),
    match=match,
    hits=(
        "history -c",
        "history -cw",
        "> ~/.bash_history",
        "cat /dev/null >| ~/.zsh_history",
        "cd ~ && : > .bash_history",
        "truncate -s 0 ~/.bash_history",
        'rm -f "$HOME/.bash_history"',
        "shred -u ~/.bash_hist*",
        "cp /dev/null ~/.bash_history",
        "ln -sf /dev/null ~/.bash_history",
        "sudo bash -c 'history -c && history -w'",
    ),
    passes=(
        "history | tail -20",
        "history -d 5",
        "history -a",
        "tail ~/.bash_history",
        "cp ~/.bash_history ./history.bak",
        "echo ls >> ~/.bash_history",
        "grep make < ~/.bash_history > history.md",
        "truncate -s 0 logs/app.log",
        "rm history.txt",
        "unset HISTFILE",
    ),
)
