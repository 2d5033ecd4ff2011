"""move-history: moves a repository's `.git` away.

Why      the rest is not a repository, and a history in a temporary directory is soon deleted.
Instead  `cp -a .git` or `git clone --mirror` to get a copy.
Misses   `mv` of its parent directory; `.[!.]*`.
"""

from __future__ import annotations

from nacre.policy.facts.precious_paths import PlaceKind, protected_place
from nacre.policy.facts.writes import WriteKind, changes
from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.shell.command import Command
from nacre.verdict import Decision


def match(command: Command, context: CheckContext) -> Hit | None:
    for deed, target in changes(command):
        if deed is WriteKind.REMOVE and ".git" in target and (place := protected_place(target, command, context)):
            return Hit() if place.kind is PlaceKind.HISTORY else None
    return None


RULE = Rule(
    id="move-history",
    decision=Decision.ASK,
    reason="would move away a repository's whole history",
    instead="`git clone --mirror . ../copy.git`, if a copy is wanted",
    commands=("mv",),
    match=match,
    hits=(
        "mv .git /tmp",
        "mv -f ./.git ../backup",
        "mv .git .git.bak",
        "mv -t /tmp .git",
        "cd src && mv ../.git /tmp",
        "sudo mv .git /tmp/x",
    ),
    passes=(
        "mv template/.git .",
        "mv .gitignore .git-ignore",
        "mv .git/hooks/pre-commit.sample .git/hooks/pre-commit",
        "mv .github ..",
        "cp -a .git /tmp",
        "mv /tmp/x/.git /tmp/y",
    ),
)
