"""find-delete-root: `find` deletes everything in the root, a home or a system directory.

Why      it cannot be undone; `-type f` alone selects nothing.
Instead  start in the directory that you mean, and name the files: `find build -name '*.o' -delete`.
Misses   a test that matches everything (`-size +0`); a name that is inserted into a script (`-exec sh -c 'rm {}'`);
         `find-delete` covers the working directory.
"""

from __future__ import annotations

from nacre.policy.facts.find_usage import deletes_all, deletes_found, start_places
from nacre.policy.facts.precious_paths import PlaceKind, ProtectedPlace
from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.shell import Command
from nacre.verdict import Decision


def match(command: Command, context: CheckContext) -> Hit | None:
    if command.name in ("rm", "unlink"):
        if command.parent is None:
            return None
        place = deletes_found(command, context)
        return None if place is None else _hit(place, "every file of ")
    if not deletes_all(command):
        return None
    return next((hit for place in start_places(command, context) if (hit := _hit(place))), None)


def _hit(place: ProtectedPlace, what: str = "") -> Hit | None:
    if place.kind not in (PlaceKind.ROOT, PlaceKind.HOME, PlaceKind.SYSTEM):
        return None
    return Hit(reason=f"would delete {what}{place.what}", mandatory=place.kind in (PlaceKind.ROOT, PlaceKind.HOME))


RULE = Rule(
    id="find-delete-root",
    decision=Decision.REFUSE,
    reason="would delete all that it finds in a system directory",
    instead="start in the directory that is meant and say which files: `find build -name '*.o' -delete`",
    commands=("find", "gfind", "rm", "unlink"),
    match=match,
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
        "find / -type f -exec sh -c 'rm \"$1\"' _ {} \\;",
        "find ~ -type f -exec sudo rm {} +",
        "fd -t f . / -X rm",
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
        "find /usr -name '*.pyc' -exec sh -c 'rm \"$1\"' _ {} \\;",
        "fd -e log . /var/log -x rm",
    ),
)
