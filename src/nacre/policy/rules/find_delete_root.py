"""find-delete-root: `find` deleting all it finds in the root, a home or a system directory.

Why      nothing brings it back; `-type f` alone is no choice.
Instead  start in the directory that is meant, and say which files: `find build -name '*.o' -delete`.
Misses   a choice that happens to fit everything (`-size +0`); `find-delete` looks at the working directory.
"""

from __future__ import annotations

from nacre.policy.finds import deletes_all, places
from nacre.policy.paths import Kind
from nacre.policy.rule import Around, Hit, Rule
from nacre.shell import Command
from nacre.verdict import Decision


def finds(command: Command, around: Around) -> Hit | None:
    if not deletes_all(command):
        return None
    for place in places(command, around):
        if place.kind in (Kind.ROOT, Kind.HOME, Kind.SYSTEM):
            return Hit(reason=f"would delete {place.what}", floor=place.kind in (Kind.ROOT, Kind.HOME))
    return None


RULE = Rule(
    id="find-delete-root",
    decision=Decision.REFUSE,
    reason="would delete all that it finds in a system directory",
    instead="start in the directory that is meant and say which files: `find build -name '*.o' -delete`",
    commands=("find", "gfind"),
    finds=finds,
    hits=(
        "find / -delete",
        "find / -type f -delete",
        "find -L / -xdev -delete",
        "find / -name '*' -delete",
        "find / -delete -name '*.pyc'",
        "find ~ -mindepth 1 -delete",
        "sudo find /usr -delete",
        "cd / && find . -delete",
        "bash -c 'find \"$HOME\" -delete'",
        "find / -depth -execdir rm -f {} ';'",
    ),
    passes=(
        "find . -name '*.pyc' -delete",
        "find /tmp/x -type f -mtime +7 -delete",
        "find /tmp -mindepth 1 -delete",
        "find build -delete",
        "find / -name '*.conf'",
        "find /var/log -name '*.gz' -delete",
        "find ~/.cache/pip -delete",
        "echo find / -delete",
    ),
)
