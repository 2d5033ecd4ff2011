"""git-restore-discard: overwrites all changed files with git's versions.

Why      changes that are neither staged nor committed are lost.
Instead  `git stash`, or name the files.
Misses   `--pathspec-from-file`; one file after the other.
"""

from __future__ import annotations

from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.policy.rules._options import render
from nacre.policy.rules.git._git import everything, git_call
from nacre.shell.command import Command
from nacre.verdict import Decision


def match(command: Command, _: CheckContext) -> Hit | None:
    git = git_call(command, "restore")
    if git is None or git.parsed.is_set("-p", "--patch"):
        return None
    if git.parsed.is_set("-S", "--staged") and not git.parsed.is_set("-W", "--worktree"):
        return None
    if everything(git.parsed.operands, git.cwd) is None:
        return None
    return Hit(render("git restore", *git.args))


RULE = Rule(
    id="git-restore-discard",
    decision=Decision.ASK,
    reason="would overwrite all changed files: edits that are not committed would be lost",
    instead="name the files: `git restore path/to/file`",
    commands=("git",),
    match=match,
    hits=(
        "git restore .",
        "git restore -- ./",
        "git restore :/",
        "git restore '*'",
        "git restore --worktree .",
        "git restore -SW .",
        "git restore --staged --worktree .",
        "git restore -s HEAD~1 .",
        "git -C repo restore --source=HEAD .",
        "sudo bash -c 'git restore .'",
    ),
    passes=(
        "git restore src/app.py",
        "git restore --staged .",
        "git restore -S .",
        "git restore --sta --source=HEAD .",
        "git restore -p .",
        "git restore '*.py'",
        "git restore --source . src/app.py",
        'git restore "$FILE"',
    ),
)
