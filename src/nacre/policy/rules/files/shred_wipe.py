"""shred-wipe: overwrites files beyond recovery that are not the user's or not named.

Why      overwritten data cannot even be recovered from the disk.
Instead  name the file: `shred -u secrets.txt`.
Misses   files from a list (`xargs shred`); files that matter and are named.
"""

from __future__ import annotations

from nacre.policy.facts.precious_paths import protected_place
from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.shell import Command
from nacre.verdict import Decision


def match(command: Command, context: CheckContext) -> Hit | None:
    for target in command.operands("-l", "-x", "-p", "-P", "-S"):
        if place := protected_place(target, command, context):
            return Hit(reason=f"would overwrite beyond recovery {place.what}")
    return None


RULE = Rule(
    id="shred-wipe",
    decision=Decision.ASK,
    reason="would overwrite files beyond recovery",
    instead="name the one file, as in `shred -u secrets.txt`",
    commands=("shred", "srm", "wipe"),
    match=match,
    hits=(
        "shred -u *",
        "shred -uz ./*",
        "srm -r ~",
        "sudo wipe -rf /home/dev",
        "srm -rf .git",
        "bash -c 'shred -u ~/*'",
        'shred -u "$X"/*',
    ),
    passes=(
        "shred -u secrets.txt",
        "shred -n 3 -u /tmp/key.pem",
        "shred -u build/*",
        'shred -u "$file"',
        "shred -u *.pem",
        "srm -r build",
        "shred --help",
    ),
)
