"""git-reset-hard: discards every uncommitted change; with `--merge`, every staged change.

Why      git has no copy of changes that were never committed or stashed.
Instead  `git stash` first, or `git reset --keep`, which stops if a change would be lost.
Misses   `git read-tree --reset -u` and other plumbing; aliases.
"""

from __future__ import annotations

from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.policy.rules._options import render
from nacre.policy.rules.git._git import git_call
from nacre.shell.command import Command
from nacre.verdict import Decision

_MODES = ("--hard", "--soft", "--mixed", "--merge", "--keep")


def match(command: Command, _: CheckContext) -> Hit | None:
    git = git_call(command, "reset")
    if git is None:
        return None
    modes = [name for name, _ in git.parsed.options if name in _MODES]
    words = render("git reset", *git.args)
    if modes[-1:] == ["--merge"] and git.parsed.operands != ["ORIG_HEAD"]:  # undoes a merge (git's manual)
        return Hit(words, "would lose every change that is staged, with no way back")
    return Hit(words) if modes[-1:] == ["--hard"] else None


RULE = Rule(
    id="git-reset-hard",
    decision=Decision.ASK,
    reason="would lose every uncommitted change to tracked files, with no way back",
    instead="`git reset --keep`, which stops rather than lose a change",
    commands=("git",),
    match=match,
    hits=(
        "git reset --hard",
        "git reset --har HEAD~1",
        "git reset HEAD~3 --hard",
        "git reset -q --hard origin/main",
        "git -C repo reset --hard",
        "m=--hard; git reset $m",
        "git reset --merge",
        "git reset --merge HEAD~1",
        "sudo bash -c 'git fetch && git reset --hard @{u}'",
    ),
    passes=(
        "git reset",
        "git reset --soft HEAD~1",
        "git reset --mixed HEAD~1",
        "git merge --abort",
        "git reset --merge ORIG_HEAD",
        "git reset --keep origin/main",
        "git reset HEAD src/app.py",
        "git reset -- --hard",
        "git commit -m 'git reset --hard'",
    ),
)
