"""find-delete: `find` deletes everything in the working directory, or files of one pattern in the whole file system.

Why      `find . -delete` takes `.git` with it; `-type f` alone selects nothing; tests after `-delete` have no effect.
Instead  name the files before `-delete`: `find . -name '*.pyc' -delete`.
Misses   a test that matches everything (`-size +0`); a name that is inserted into a script (`-exec sh -c 'rm {}'`).
"""

from __future__ import annotations

from nacre.policy.facts.find_usage import deletes, deletes_all, deletes_found, start_places, starts
from nacre.policy.facts.precious_paths import PlaceKind
from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.shell import Command
from nacre.verdict import Decision

_OTHERS = (PlaceKind.ROOT, PlaceKind.HOME, PlaceKind.SYSTEM)
"""Kinds that `find-delete-root` handles."""


def match(command: Command, context: CheckContext) -> Hit | None:
    if command.name in ("rm", "unlink"):
        if command.parent is None:
            return None
        place = deletes_found(command, context)
        if place is None or place.kind in _OTHERS:
            return None
        return Hit(reason=f"would delete every file of {place.what}")
    if not deletes_all(command):
        everywhere = "/" in starts(command) and deletes(command)
        return Hit(reason="would delete files all over the file system") if everywhere else None
    for place in start_places(command, context):
        if place.kind not in _OTHERS:
            return Hit(reason=f"would delete {place.what}")
    return None


RULE = Rule(
    id="find-delete",
    decision=Decision.ASK,
    reason="would delete all that it finds here",
    instead="say which files, before `-delete`: `find . -name '*.pyc' -delete`",
    commands=("find", "gfind", "rm", "unlink"),
    match=match,
    hits=(
        "find . -delete",
        "find -delete",
        "find ./ -mindepth 1 -delete",
        "find . -type f -delete",
        "cd src && find .. -delete",
        "find . -delete -name '*.pyc'",
        "find . ! -name keep -delete",
        "find . -path ./a -prune -o -delete",
        "find . -maxdepth 1 -exec rm {} +",
        "sudo find .git -delete",
        "bash -c 'find . -delete'",
        "find / -name '*.log' -delete",
        "find . -type f -exec sh -c 'rm \"$1\"' _ {} \\;",
        "find . -type f -exec bash -c 'for f; do rm -f \"$f\"; done' _ {} +",
        "find . -type f -exec sudo rm {} \\;",
        "find . -maxdepth 1 -type f -exec env unlink {} \\;",
        "fd -t f -X rm",
        "fdfind . --exec rm {}",
    ),
    passes=(
        "find . -name '*.pyc' -delete",
        "find . -type d -name __pycache__ -exec rm -rf {} +",
        "find . -path ./a -prune -o -name '*.log' -delete",
        "find . \\( -name '*.o' -o -name '*.a' \\) -delete",
        "find . -type d -empty -delete",
        "find ./build -delete",
        "find build -type f -delete",
        'find "$dir" -delete',
        "find . -type f",
        "find . -name '*.sh' -exec chmod +x {} +",
        "find / -name '*.log'",
        "find . -name '*.pyc' -exec sh -c 'rm \"$1\"' _ {} \\;",
        'find . -type f -exec sh -c \'grep -q x "$1" && rm "$1"\' _ {} \\;',
        "find . -type f -exec sh -c 'rm \"$1.bak\"' _ {} \\;",
        "find build -type f -exec sh -c 'rm \"$1\"' _ {} \\;",
        "fd -e pyc -x rm",
        "fd -t f . build -X rm",
    ),
)
