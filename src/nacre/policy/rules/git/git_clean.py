"""git-clean: deletes all files that git does not track.

Why      git has no copy of these files: new work and, with `-x`, ignored files such as `.env`.
Instead  `git clean -n` to see the list, then delete by name.
Misses   `clean.requireForce=false` in the configuration, where `-f` is not needed.
"""

from __future__ import annotations

from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.policy.rules._options import render
from nacre.policy.rules.git._git import everything, git_call
from nacre.shell.command import Command
from nacre.verdict import Decision


def match(command: Command, _: CheckContext) -> Hit | None:
    git = git_call(command, "clean")
    if git is None or git.parsed.is_set("-n", "--dry-run") or git.parsed.is_set("-i", "--interactive"):
        return None
    if not git.parsed.is_set("-f", "--force") and git.config.get("clean.requireforce") != "false":
        return None
    if git.parsed.operands and everything(git.parsed.operands, git.cwd) is None:
        return None
    words = render("git clean", *git.args)
    if git.parsed.has("-X"):
        return Hit(words, "would delete every ignored file for good, `.env` and the like among them")
    if git.parsed.has("-x"):
        return Hit(words, "would delete every file that git does not track for good, ignored ones such as `.env` too")
    return Hit(words)


RULE = Rule(
    id="git-clean",
    decision=Decision.ASK,
    reason="would delete the files that git does not track, new work among them, for good",
    instead="`git clean -n` to see the list, then delete what you mean by name",
    commands=("git",),
    match=match,
    hits=(
        "git clean -f",
        "git clean -fdx",
        "git clean -ffdX",
        "git clean --forc -d",
        "git clean -dfx .",
        "git clean -fd -e .env",
        "git -C repo clean -xdf",
        "git -c clean.requireForce=false clean -d",
        "sudo bash -c 'git clean -qfdx'",
    ),
    passes=(
        "git clean",
        "git clean -n",
        "git clean -ndx",
        "git clean -fdxn",
        "git clean --dry-run -d",
        "git clean -i",
        "git clean -fdx build/",
        "git clean -e -f",
        "make clean -f Makefile",
    ),
)
