"""git-clean: deletes all files that git does not track.

Why      git has no copy of them: new work, with `-x` also ignored files such as `.env`.
Instead  `git clean -n` to see the list, then delete by name.
Misses   `clean.requireForce=false` in the configuration, where `-f` is not needed.
"""

from __future__ import annotations

from nacre.policy.rule import Around, Hit, Rule
from nacre.policy.rules._options import said
from nacre.policy.rules.git._git import everything, git_call
from nacre.shell.command import Command
from nacre.verdict import Decision


def finds(command: Command, _: Around) -> Hit | None:
    git = git_call(command, "clean")
    if git is None or git.given.on("-n", "--dry-run") or git.given.on("-i", "--interactive"):
        return None
    if not git.given.on("-f", "--force") and git.config.get("clean.requireforce") != "false":
        return None
    if git.given.operands and everything(git.given.operands, git.cwd) is None:
        return None
    words = said("git clean", *git.args)
    if git.given.has("-X"):
        return Hit(words, "would delete every ignored file for good, `.env` and the like among them")
    if git.given.has("-x"):
        return Hit(words, "would delete every file that git does not track for good, ignored ones such as `.env` too")
    return Hit(words)


RULE = Rule(
    id="git-clean",
    decision=Decision.ASK,
    reason="would delete the files that git does not track, new work among them, for good",
    instead="`git clean -n` to see the list, then delete what you mean by name",
    commands=("git",),
    finds=finds,
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
