"""git-rm-all: deletes every tracked file, including changed ones.

Why      with `-f`, uncommitted edits are lost; the rest must be restored from the last commit.
Instead  name the files; `git rm -r --cached .` keeps them on disk.
Misses   one directory after the other; `--pathspec-from-file`.
"""

from __future__ import annotations

from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.policy.rules._options import render
from nacre.policy.rules.git._git import everything, git_call
from nacre.shell.command import Command
from nacre.verdict import Decision


def match(command: Command, _: CheckContext) -> Hit | None:
    git = git_call(command, "rm")
    if git is None or not git.parsed.is_set("-f", "--force") or git.parsed.is_set("--cached"):
        return None
    if git.parsed.is_set("-n", "--dry-run") or everything(git.parsed.operands, git.cwd) is None:
        return None
    return Hit(render("git rm", *git.args))


RULE = Rule(
    id="git-rm-all",
    decision=Decision.ASK,
    reason="would delete every tracked file, and the edits in them that are not committed",
    instead="name the files, or `git rm -r --cached .`, which leaves them where they are",
    commands=("git",),
    match=match,
    hits=(
        "git rm -rf .",
        "git rm -r -f ./",
        "git rm --force -r :/",
        "git rm -rf '*'",
        "git rm -rf *",
        "git -C repo rm -qrf .",
        "sudo bash -c 'git rm -rf .'",
    ),
    passes=(
        "git rm -r .",
        "git rm -rf --cached .",
        "git rm -rfn .",
        "git rm -rf build",
        "git rm -f src/app.py",
        "git rm -rf '*.pyc'",
    ),
)
