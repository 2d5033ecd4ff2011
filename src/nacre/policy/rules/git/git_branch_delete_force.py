"""git-branch-delete-force: deletes a branch even if its commits are nowhere else.

Why      commits that are only on this branch are hard to find again, and git deletes them in time.
Instead  `git branch -d`, which stops if the branch is not merged.
Misses   `git update-ref -d` (see git-history-rewrite); aliases.
"""

from __future__ import annotations

from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.policy.rules._options import render
from nacre.policy.rules.git._git import git_call
from nacre.shell.command import Command
from nacre.verdict import Decision


def match(command: Command, _: CheckContext) -> Hit | None:
    git = git_call(command, "branch")
    if git is None or git.parsed.has("-r", "--remotes"):  # copies of remote branches: a fetch restores them
        return None
    if git.parsed.has("-D") or (git.parsed.is_set("-d", "--delete") and git.parsed.is_set("-f", "--force")):
        return Hit(render("git branch", *git.args))
    return None


RULE = Rule(
    id="git-branch-delete-force",
    decision=Decision.ASK,
    reason="would lose the commits that no other branch holds",
    instead="`git branch -d`, which stops if the branch is not merged",
    commands=("git",),
    match=match,
    hits=(
        "git branch -D feature",
        "git branch -qD feature other",
        "git branch --delete --force feature",
        "git branch -d -f feature",
        "git branch -df feature",
        "git -C repo branch -d --forc old",
        "git branch --merged | xargs git branch -D",
        "sudo bash -c 'git checkout main && git branch -D feature'",
    ),
    passes=(
        "git branch",
        "git branch -d merged-feature",
        "git branch -M main",
        "git branch -f feature main",
        "git branch -Dr origin/feature",
        "git branch --list -a",
        "git tag -d v0.1",
        "git branch D",
    ),
)
