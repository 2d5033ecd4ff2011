"""git-restore-discard: overwrites all changed files with what git has.

Why      changes that are neither staged nor committed are gone.
Instead  `git stash`, or name the files.
Misses   `--pathspec-from-file`; one file after the other.
"""

from __future__ import annotations

from nacre.policy.rule import Around, Hit, Rule
from nacre.policy.rules._options import said
from nacre.policy.rules.git._git import everything, git_call
from nacre.shell.command import Command
from nacre.verdict import Decision


def finds(command: Command, _: Around) -> Hit | None:
    git = git_call(command, "restore")
    if git is None or git.given.on("-p", "--patch"):
        return None
    if git.given.on("-S", "--staged") and not git.given.on("-W", "--worktree"):
        return None
    if everything(git.given.operands, git.cwd) is None:
        return None
    return Hit(said("git restore", *git.args))


RULE = Rule(
    id="git-restore-discard",
    decision=Decision.ASK,
    reason="would overwrite all changed files: edits that are not committed would be lost",
    instead="name the files: `git restore path/to/file`",
    commands=("git",),
    finds=finds,
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
