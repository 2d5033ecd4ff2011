"""rm-root-or-home: deletes the whole file system, or a user's home.

Why      it cannot be undone, and no task needs it.
Instead  name the one directory to delete.
Misses   a link that leads there; a path that is known only at run time (see `rm-precious`); files of this machine that
         a container mounts (`docker run -v /:/host alpine rm -rf /host`).
"""

from __future__ import annotations

from nacre.policy.facts.precious_paths import PlaceKind, protected_place
from nacre.policy.facts.recursive_delete import NODES, deletes_trees, trees
from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.shell.command import Command
from nacre.shell.symbolic import with_unknowns_empty
from nacre.verdict import Decision


def match(command: Command, context: CheckContext) -> Hit | None:
    if "--no-preserve-root" in command.args:
        return Hit()
    if not deletes_trees(command):
        return None
    for target in trees(command):
        place = protected_place(target, command, context)
        if (
            place is not None
            and place.kind in (PlaceKind.ROOT, PlaceKind.HOME)
            and with_unknowns_empty(target) == target
        ):
            return Hit(reason=f"would delete {place.what}")
    return None


RULE = Rule(
    id="rm-root-or-home",
    decision=Decision.REFUSE,
    reason="would delete the whole file system",
    instead="name the one directory that has to go, as in `rm -rf ./build`",
    commands=("rm", *NODES),
    match=match,
    mandatory=True,
    hits=(
        "rm -rf /",
        "rm -fr -- /",
        "rm / -r",
        "rm --recurs /",
        "rm -rf /*",
        "rm -rf //",
        "rm -rf /tmp/..",
        "rm -rf ../../..",
        "cd / && rm -rf *",
        "sudo rm -rf / --no-preserve-root",
        "bash -c 'rm -Rf /'",
        "rm -rf ~",
        "rm -rf ~/*",
        "rm -rf ~/.*",
        'rm -rf "$HOME"',
        "rm -rf /home/alice",
        'cd /home && rm -rf "$USER"',
        "rm -rf /home/$(whoami)",
        "h=~; rm -rf -- $h/",
        'rm -rf "${HOME%/*}"',
        "fd . / -x rm -rf",
        "fd -H . ~ --exec rm -rf {}",
        "fd . / | xargs rm -rf",
        "rimraf /",
        "npx rimraf ~",
        "npx -y rimraf@5 /",
        "npx --yes rimraf -g '/*'",
        "pnpm dlx rimraf /",
        "yarn dlx del-cli --force ~",
        "yarn rimraf /",
        "bunx rimraf $HOME",
    ),
    passes=(
        "rm -rf ./build",
        "rm -rf /tmp/x",
        "rm -rf ~/.cache/pip",
        "rm -rf '~'",
        "rm -- -rf /",
        "rm -rf $HOMEDIR",
        "rm -rf /home/dev/project/build",
        "echo 'rm -rf /'",
        "rm --help",
        'rm -rf "${PWD##*/}.egg-info"',
        "fd . /tmp/x -x rm -rf",
        "npx rimraf ./dist",
        "yarn rimraf ~/.cache/app",
        "npm install rimraf",
    ),
)
