"""git-history-rewrite: changes old commits, or deletes the reflog, from which they could be restored.

Why      lost commits can be found in the reflog only; a rewritten history no longer fits other people's copies.
Instead  a new commit on top, or a copy of the repository first.
Misses   rebase and `commit --amend` (allowed: the reflog has them); `git update-ref --stdin`; tools run through java.
"""

from __future__ import annotations

from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.policy.rules._options import render, which_program
from nacre.policy.rules.git._git import GitCall, git_call
from nacre.shell.command import Command
from nacre.verdict import Decision

_REWRITES = ("filter-branch", "filter-repo")
_NOW = ("now", "all", "0")
_QUIET = ("--analyze", "--dry-run", "-n", "--help", "-h", "--version")
_OBJECTS = "would lose for good what only the reflog remembers: commits that were reset or rebased away"


def match(command: Command, _: CheckContext) -> Hit | None:
    git = git_call(command, *_REWRITES, "reflog")
    if git is not None:
        return _git(git)
    if not which_program(command, "git-filter-repo", "git-filter-branch", "bfg") or set(command.args) & set(_QUIET):
        return None
    return Hit(render(*command.argv))


def _git(git: GitCall) -> Hit | None:
    words = render("git", git.sub, *git.args)
    if git.sub in _REWRITES:
        return Hit(words) if not set(git.args) & set(_QUIET) else None
    if git.args[:1] != ("expire",) or git.parsed.is_set("-n", "--dry-run"):
        return None
    if not set(git.parsed.values("--expire", "--expire-unreachable")) & set(_NOW):
        return None
    return Hit(words, _OBJECTS, "plain `git gc`")


RULE = Rule(
    id="git-history-rewrite",
    decision=Decision.ASK,
    reason="would rewrite every commit: the old history would be lost, and other copies would no longer fit",
    instead="make a new commit on top",
    commands=("git", "git-filter-repo", "git-filter-branch", "bfg"),
    match=match,
    hits=(
        "git filter-branch --force --all",
        "git filter-repo --path secret --invert-paths",
        "git-filter-repo --strip-blobs-bigger-than 10M",
        "git reflog expire --expire=now --all",
        "git reflog expire --expire-unreachable=now --all",
    ),
    passes=(
        "git gc --prune=now",
        "git reflog",
        "git reflog expire --expire=now --all --dry-run",
        "git reflog expire --expire=90.days --all",
        "git gc",
        "git gc --prune=2.weeks.ago",
        "git filter-repo --analyze",
        "git update-ref refs/heads/main HEAD",
        "git rebase -i HEAD~3",
        "git commit --amend --no-edit",
        "git tag -d v1",
    ),
)
