"""owner-recursive: changes owners or modes of everything in a system directory, a home or the root.

Why      programs stop working when their files change owner (sudo, ssh), and the old state is not recorded.
Instead  name your own directory: `chown -R me ./data`.
Misses   the same change, file by file (`find / -exec chown …`).
"""

from __future__ import annotations

from nacre.policy.facts.precious_paths import PlaceKind, protected_place
from nacre.policy.facts.writes import changes
from nacre.policy.rule import CheckContext, Hit, Rule, hit_at
from nacre.shell.command import Command
from nacre.verdict import Decision


def match(command: Command, context: CheckContext) -> Hit | None:
    if not command.has_flag("-R", "--recursive"):
        return None
    return hit_at(
        (
            (target, Hit(reason=f"would change, with all that is in it, {place.what}"))
            for _, target in changes(command)
            if (place := protected_place(target, command, context))
            and place.kind in (PlaceKind.ROOT, PlaceKind.HOME, PlaceKind.SYSTEM)
        ),
        command,
    )


RULE = Rule(
    id="owner-recursive",
    decision=Decision.ASK,
    reason="would change a system directory with all that is in it",
    instead="name the directory that is yours, as in `chown -R me ./data`",
    commands=("chmod", "chown", "chgrp"),
    match=match,
    hits=(
        "chmod -R 700 /etc",
        "chmod -R 755 /",
        "sudo chown -R dev:dev /usr",
        "chown --recursive nobody /var",
        "chgrp -R staff /usr",
        "cd / && chown -R dev usr",
        "chown -hR dev: ~",
        "bash -c 'chmod -R go-rwx /home'",
    ),
    passes=(
        "chown -R me .",
        "chmod -R go-w .",
        "sudo chown -R dev:dev /home/dev/project/data",
        "sudo chown -R $(whoami) ~/.npm",
        "chown -R www-data:www-data /var/www/html",
        "chmod 755 /usr/local/bin/tool",
        "chown -R 1000:1000 ./pgdata",
        'chown -R app "$DIR"',
    ),
)
