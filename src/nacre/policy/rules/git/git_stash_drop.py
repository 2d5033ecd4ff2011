"""git-stash-drop: deletes stashed changes.

Why      a stash is the only copy of its changes; the agent may not know whose they are.
Instead  `git stash pop`, which drops a stash after it is applied; or keep it.
Misses   `git reflog delete refs/stash@{0}`; aliases.
"""

from __future__ import annotations

from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.policy.rules._options import render
from nacre.policy.rules.git._git import git_call
from nacre.shell.command import Command
from nacre.verdict import Decision


def match(command: Command, _: CheckContext) -> Hit | None:
    git = git_call(command, "stash")
    if git is None:
        return None
    if git.args[:1] == ("clear",):
        return Hit("git stash clear", "would lose every stash of this repository, whoever made it")
    return Hit(render("git stash", *git.args)) if git.args[:1] == ("drop",) else None


RULE = Rule(
    id="git-stash-drop",
    decision=Decision.ASK,
    reason="would lose the stashed changes, of which there is no other copy",
    instead="`git stash pop`, which drops a stash only once it is applied",
    commands=("git",),
    match=match,
    hits=(
        "git stash drop",
        "git stash drop stash@{0}",
        "git stash drop -q 'stash@{1}'",
        "git stash clear",
        "git -C repo stash drop",
        "git stash && git stash drop",
        "sudo -u dev sh -c 'git stash clear'",
    ),
    passes=(
        "git stash",
        "git stash pop",
        "git stash list",
        "git stash apply stash@{1}",
        "git stash push -m drop",
        "git stash -m clear",
        "git stash show -p",
        "echo 'git stash drop'",
    ),
)
