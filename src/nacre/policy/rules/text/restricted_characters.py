"""restricted-characters: only plain words and `$VAR`; no separators, substitutions or braces.

Why      some tools allow one simple command at a time, and nothing that could hide a second one. Off unless a policy
         names it: `Policy(decisions={"restricted-characters": Decision.REFUSE})`.
Instead  run the commands one by one, or rely on the other rules, which check what would run.
Misses   newlines and `|`, which the original of this rule allows.
"""

from __future__ import annotations

import re

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.rule import ANY_SCRIPT, CheckContext, Hit, Rule
from nacre.shell.command import Script
from nacre.verdict import Decision

_ALLOWED = lazy_regex(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})", re.ASCII)
_FORBIDDEN = lazy_regex(r"[;&`${}]")


def match_script(script: Script, _: CheckContext) -> tuple[int, int, Hit] | None:
    rest = _ALLOWED.sub(lambda found: " " * len(found[0]), script.text)
    found = _FORBIDDEN.search(rest)
    if found is None:
        return None
    return found.start(), found.end(), Hit(found[0], "is a character that this policy forbids in commands")


RULE = Rule(
    id="restricted-characters",
    decision=Decision.REFUSE,
    reason="is a character that this policy forbids in commands",
    instead="run one command at a time, with plain words and $VAR only",
    optional=True,
    commands=(ANY_SCRIPT,),
    match_script=match_script,
    hits=("ls; pwd", "sleep 1 & ls", "echo `date`", "echo $(date)", "echo {a,b}", "echo ${x:-y}", "a && b"),
    passes=("ls -la", "echo $HOME", "echo ${HOME}/x", "ls | wc -l", "echo 'a b' > out"),
)
