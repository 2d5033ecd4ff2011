"""git-push-delete: deletes branches or tags on the remote.

Why      they are deleted for everyone, and with them the commits that are on no other branch.
Instead  leave it to the user, or to the merge request that closes the branch.
Misses   tools and APIs of the host (`gh api`: see gh-delete); aliases.
"""

from __future__ import annotations

from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.policy.rules._options import render
from nacre.policy.rules.git._git import git_call
from nacre.shell.command import Command
from nacre.verdict import Decision


def match(command: Command, _: CheckContext) -> Hit | None:
    git = git_call(command, "push")
    if git is None or git.parsed.is_set("-n", "--dry-run"):
        return None
    if git.parsed.is_set("-d", "--delete"):
        return Hit(render("git push", *git.args))
    if git.parsed.is_set("--prune"):
        return Hit(render("git push", *git.args), "would delete every remote branch that does not exist here")
    for refspec in git.parsed.operands[1:]:
        if refspec.startswith(":") and len(refspec) > 1:
            return Hit(render("git push", git.parsed.operands[0], refspec))
    return None


RULE = Rule(
    id="git-push-delete",
    decision=Decision.ASK,
    reason="would delete it on the remote, for everybody, with the commits that nothing else holds",
    instead="leave remote branches and tags, and say which ones could go",
    commands=("git",),
    match=match,
    hits=(
        "git push --delete origin feature",
        "git push origin --del feature",
        "git push -d origin v1.0",
        "git push origin :feature",
        "git push origin main :refs/tags/v1.0",
        'git push origin ":$BRANCH"',
        "git push --prune origin",
        "git -C repo push origin -d x",
        "sudo bash -c 'git push origin --delete x'",
    ),
    passes=(
        "git push",
        "git push origin main:main",
        "git push origin :",
        "git push --delete --dry-run origin x",
        "git push -u origin delete-branch",
        "git push -o -d origin main",
        "git branch -d feature",
        "git fetch --prune origin",
        "git tag -d v1.0",
    ),
)
