"""fork-bomb: starts copies of itself without end.

Why      the machine stops responding, for all its users.
Instead  a loop with a fixed number of rounds (`for i in $(seq 4)`), `xargs -P`.
Misses   a script that starts its own file (`$0 & $0`); other forms of such loops in other languages.
"""

from __future__ import annotations

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.rule import FORK_BOMBS, RUNS_CODE, CheckContext, Hit, Rule
from nacre.shell import Command, Script
from nacre.verdict import Decision

_FORKS = lazy_regex(
    r"\bfork ?(?:\( ?\))? ?(?:while|until)\b|"
    r"\bwhile ?\(? ?(?:True|true|1|fork(?:\(\))?)? ?\)? ?(?::|\{|do\b) ?"
    r"(?:os\.|__import__\(.os.\)\.|Process\.|pcntl_)?fork\b|"
    r"\bloop ?(?:\{|do\b) ?(?:Process\.)?fork\b|\bfor ?\( ?; ?; ?\) ?\{? ?fork\b"
)
_TIGHT = lazy_regex(r"(?<![\w:.])([\w:.]{1,40})[ \t]?\(\s?\)\s?\{\s?\1\s?\|\s?\1\s?&\s?\}")
"""Matches a fork bomb without the spaces that bash requires; other shells run it."""


def match_script(script: Script, context: CheckContext) -> tuple[int, int, Hit] | None:
    if script.fork_bombs:
        return (*script.fork_bombs[0], Hit())
    found = _TIGHT.search(script.text) if script.syntax_error or script.maybe_syntax_error else None
    return (*found.span(), Hit()) if found else None


def match(command: Command, context: CheckContext) -> Hit | None:
    if not command.script or "fork" not in command.script:
        return None
    return Hit() if _FORKS.search(" ".join(command.script.split())) else None


RULE = Rule(
    id="fork-bomb",
    decision=Decision.REFUSE,
    reason="starts copies of itself until the machine stops answering",
    instead="a loop with a fixed number of rounds, as in `for i in $(seq 4); do …; done`",
    commands=(FORK_BOMBS, RUNS_CODE),
    match=match,
    match_script=match_script,
    hits=(
        ":(){ :|:& };:",
        ":(){:|:&};:",
        "bomb() { bomb | bomb & }; bomb",
        "function f { f & f; }; f",
        "f() ( f | f & ); f",
        "sudo bash -c 'b(){ b|b& };b'",
        "eval ':(){ :|:& };:'",
        "perl -e 'fork while fork'",
        "perl -e 'while (1) { fork }'",
        "python3 -c 'import os\nwhile True: os.fork()'",
        "ruby -e 'loop { fork }'",
        "f(){ case x in x) f & f;; esac; }; f",
        "f(){ coproc f; f; }; f",
        "f(){ cat <(f) <(f); }; f",
        "f(){ x=$(f) & f; }; f",
        "f(){ eval f & f; }; f",
        "f(){ $FUNCNAME & $FUNCNAME & }; f",
        "for ((;;)); do sleep 100 & done",
        "while true; do sleep 100 & done",
        "python3 -c \"while 1: __import__('os').fork()\"",
    ),
    passes=(
        "f() { echo hi & }; f",
        "f() { f2 | cat; }; f",
        "work() { sleep 1; }; work & work & wait",
        "count() { [ $1 -gt 0 ] && count $(($1 - 1)); }; count 3",
        "python3 -c 'import os; print(os.fork.__doc__)'",
        "echo ':(){ :|:& };:'",
        "git log --grep fork",
        "run() { case $1 in all) run a & run b & wait;; a) make a;; b) make b;; esac; }; run all",
        "while true; do make & sleep 5; done",
        "while true; do make & wait; done",
        "for ((i = 0; i < 4; i++)); do sleep 100 & done",
        "fact() { if [ $1 -gt 1 ]; then echo $(($1 * $(fact $(($1 - 1))))); else echo 1; fi; }; fact 5",
    ),
)
