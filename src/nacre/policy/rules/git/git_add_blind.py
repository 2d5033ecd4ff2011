"""git-add-blind: stages everything without review.

Why      secrets, build results and other people's changes get into the commit.
Instead  name the files: `git add src/app.py`; `git add -u` for what git already tracks.
Misses   aliases from the configuration; a list from another source (`--pathspec-from-file=f`, `git add $(…)`).
"""

from __future__ import annotations

import re

from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.policy.rules._options import ParsedOptions, render
from nacre.policy.rules.git._git import GitCall, everything, git_call
from nacre.shell.command import Command
from nacre.shell.symbolic import is_fully_known
from nacre.verdict import Decision

_LIMITS = (
    ("-n", "--dry-run"),
    ("-N", "--intent-to-add"),
    ("-u", "--update"),
    ("-p", "--patch"),
    ("-i", "--interactive"),
    ("-e", "--edit"),
    ("--refresh",),
    ("--renormalize",),
)


def match(command: Command, _: CheckContext) -> Hit | None:
    git = git_call(command, "add", "stage")
    return None if git is None or _is_limited(git.parsed) else everything_in(git, command)


def everything_in(git: GitCall, command: Command) -> Hit | None:
    """Return a hit if the pathspecs or options include everything."""
    specs = git.parsed.operands + _pathspecs_from_stdin(git.parsed, command)
    if specs or git.parsed.has("--pathspec-from-file"):
        spec = everything(specs, git.cwd)
        return Hit(render("git", git.sub, spec)) if spec is not None else None
    if git.parsed.is_set("-A", "--all") or git.parsed.has("--no-ignore-removal"):
        return Hit(render("git", git.sub, *git.args))
    return None


def _pathspecs_from_stdin(given: ParsedOptions, command: Command) -> list[str]:
    """Return the pathspecs that `--pathspec-from-file=-` reads, if stdin is known."""
    if given.values("--pathspec-from-file") != ["-"] or command.stdin is None or not is_fully_known(command.stdin):
        return []
    return [line for line in re.split("[\\n\\0]", command.stdin) if line]


def _is_limited(given: ParsedOptions) -> bool:
    """Return whether options limit it to tracked files, to a selection, or to nothing."""
    return any(given.is_set(*names) for names in _LIMITS)


RULE = Rule(
    id="git-add-blind",
    decision=Decision.REFUSE,
    reason="stages everything, also secrets, build results and changes that are not yours",
    instead="name the files: `git add path/to/file` (`git status --short` lists them)",
    commands=("git",),
    match=match,
    hits=(
        "git add -A",
        "git add .",
        "git add --al -v",
        "git add -- ./",
        "git add *",
        "git add ':(top)'",
        "git add ':!node_modules'",
        'git add "$PWD"',
        "git -C sub -c user.name=x stage -Av",
        "git add src/../. README.md",
        "xargs git add -A < /dev/null",
        "git add --pathspec-from-file=- <<< .",
        "git -c alias.save='add --all' save",
        "sudo -u dev bash -c 'cd src && git add -f ..'",
    ),
    passes=(
        "git add src/app.py",
        "git add -A src/",
        "git add -u .",
        "git add -n .",
        "git add -p",
        "git add '*.py' docs/*",
        "git add .gitignore ./src",
        "git add ':(top)README.md'",
        'git add "$FILE"',
        "git diff --name-only | xargs git add",
        "git diff --name-only | xargs git add -A",
        "git ls-files -m | git add --pathspec-from-file=-",
        "git commit -am 'git add .'",
        "git remote add -f upstream .",
    ),
)
