"""git-checkout-discard: overwrites all changed files with git's versions.

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
    git = git_call(command, "checkout", "switch", "checkout-index")
    if git is None or git.parsed.is_set("-p", "--patch"):
        return None
    words = render("git", git.sub, *git.args)
    forced = git.parsed.is_set("-f", "--force") or git.parsed.is_set("--discard-changes")
    if git.sub == "checkout-index":
        return Hit(words) if forced and git.parsed.is_set("-a", "--all") else None
    paths = git.parsed.operands[git.parsed.dashed or 0 :]
    if git.sub == "checkout" and everything(paths, git.cwd) is not None:
        return Hit(words)
    named = paths if git.parsed.dashed is not None else [each for each in paths if "/" in each or "." in each]
    return Hit(words) if forced and not named else None


RULE = Rule(
    id="git-checkout-discard",
    decision=Decision.ASK,
    reason="would overwrite all changed files: edits that are not committed would be lost",
    instead="`git stash` first, or name the files: `git checkout -- path/to/file`",
    commands=("git",),
    match=match,
    hits=(
        "git checkout -- .",
        "git checkout .",
        "git checkout HEAD -- ./",
        "git checkout origin/main .",
        "git checkout -- :/",
        "git checkout -- '*'",
        "git checkout -f",
        "git checkout -qf main",
        "git switch --discard-changes main",
        "git -C repo checkout -q -- .",
        "sudo bash -c 'git checkout --force main'",
    ),
    passes=(
        "git checkout main",
        "git checkout -b fix/all",
        "git checkout -B main origin/main",
        "git checkout -- src/app.py",
        "git checkout -f -- src/app.py",
        "git checkout HEAD~1 -- package.json",
        "git checkout .gitignore",
        "git checkout -p .",
        'git checkout "$BRANCH"',
        "git switch -c feature",
        "git checkout -",
    ),
)
