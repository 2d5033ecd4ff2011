"""too-complex: a command that is too deeply nested or too long to be checked completely.

Why      the unread part was not checked and may delete the root, so no policy allows it.
Instead  write it to a file, in simpler steps.
Misses   nothing known: the checker reports here that it stopped.
"""

from __future__ import annotations

from nacre.policy.rule import GAVE_UP, CheckContext, Hit, Rule
from nacre.shell import Script
from nacre.verdict import Decision

_MAX_SHOWN_CHARS = 60


def match_script(script: Script, context: CheckContext) -> tuple[int, int, Hit] | None:
    if not script.gave_up:
        return None
    words = " ".join(script.text[: 4 * _MAX_SHOWN_CHARS].split())
    words = words if len(words) <= _MAX_SHOWN_CHARS else words[:_MAX_SHOWN_CHARS] + "…"
    return 0, len(script.text), Hit(words=words, reason=f"cannot be checked: {script.gave_up}")


RULE = Rule(
    id="too-complex",
    decision=Decision.REFUSE,
    reason="cannot be checked",
    instead="write it to a file, in simpler steps",
    commands=(GAVE_UP,),
    match_script=match_script,
    mandatory=True,
    hits=(
        "sudo " * 12 + "ls",
        "env " * 12 + "ls",
        "eval " * 12 + "ls",
        "nice " * 9 + "nohup ls",
        "echo " + "$(echo " * 300 + "x" + ")" * 300,
        "if true; then " * 400 + "ls" + "; fi" * 400,
    ),
    passes=(
        "sudo env nice timeout 5 ls",
        "echo $(echo $(echo x))",
        "((((ls))))",
        "sudo -u dev bash -c 'nohup make &'",
        "a | b | c | d | e | f | g | h | i | j | k",
        "for i in 1 2 3; do for j in 1 2 3; do echo $i$j; done; done",
    ),
)
