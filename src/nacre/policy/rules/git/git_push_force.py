"""git-push-force: a forced push can erase commits that other people hold.

Why      the remote's history is shared; the agent may not rewrite it alone.
Instead  `git push --force-with-lease`, or push a new branch.
Misses   git aliases, `remote.*.push` and `remote.*.mirror` in the configuration; a command built at run
         time (`$CMD`).
"""

from __future__ import annotations

import re

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.policy.rules._options import render
from nacre.policy.rules.git._git import git_call
from nacre.shell.command import Command
from nacre.verdict import Decision

_CONFIGURED = lazy_regex(r"remote\..+\.(?:push=\+.*|mirror=(?:true|yes|on|1|))", re.DOTALL)


def match(command: Command, _: CheckContext) -> Hit | None:
    git = git_call(command, "push", "send-pack")
    if git is None or git.parsed.is_set("-n", "--dry-run"):
        return None
    if git.parsed.is_set("-f", "--force") or git.parsed.is_set("--mirror"):
        return Hit(render("git", git.sub, *git.args))
    for name, value in git.config.items():
        if _CONFIGURED.fullmatch(f"{name}={value}") and len(git.parsed.operands) < 2:
            return Hit(render("git", "-c", f"{name}={value}", git.sub, *git.args))
    for refspec in git.parsed.operands[1:]:
        if refspec.startswith("+"):
            return Hit(render("git", git.sub, git.parsed.operands[0], refspec))
    return None


RULE = Rule(
    id="git-push-force",
    decision=Decision.REFUSE,
    reason="overwrites the remote branch: commits that others pushed there would be lost",
    instead="`git push --force-with-lease`, which stops if the remote has moved",
    commands=("git",),
    match=match,
    hits=(
        "git push -f",
        "git push --forc origin main",
        "git push -fu origin feature",
        "git push origin +HEAD:main",
        'git push origin "+$(git branch --show-current)"',
        "git push --mirror",
        "git push --force-with-lease --force",
        "git push --force-with-lease origin +main",
        "git push -o ci.skip -f",
        "git -C repo -c push.default=current push origin main --force",
        "sudo bash -c 'git fetch && git push -f'",
        "git -c remote.origin.push=+HEAD push",
        "git -c remote.origin.mirror=true push",
        "git config alias.x 'push --force'; git x",
    ),
    passes=(
        "git push",
        "git push -u origin feature",
        "git push --force-with-lease=main:abc123 origin main",
        "git push --force-if-includes --force-with-lease",
        "git push origin feature+x",
        "git push -o -f origin main",
        "git push --push-option=--force",
        "git push --force --dry-run",
        "git push origin $BRANCH",
        "git -c remote.origin.push=HEAD push",
        "git config alias.x 'push --force'",
        "git fetch -f origin +main:main",
        "echo 'git push -f'",
    ),
)
