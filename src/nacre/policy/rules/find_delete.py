"""find-delete: `find` deleting all it finds in the working directory, or by a pattern in the whole file system.

Why      `find . -delete` takes `.git` with it; `-type f` alone is no choice, and tests behind `-delete` come too late.
Instead  say which files, before `-delete`: `find . -name '*.pyc' -delete`.
Misses   a choice that happens to fit everything (`-size +0`).
"""

from __future__ import annotations

from nacre.policy.finds import deletes, deletes_all, places, starts
from nacre.policy.paths import Kind
from nacre.policy.rule import Around, Hit, Rule
from nacre.shell import Command
from nacre.verdict import Decision


def finds(command: Command, around: Around) -> Hit | None:
    if not deletes_all(command):
        everywhere = "/" in starts(command) and deletes(command)
        return Hit(reason="would delete files all over the file system") if everywhere else None
    for place in places(command, around):
        if place.kind not in (Kind.ROOT, Kind.HOME, Kind.SYSTEM):
            return Hit(reason=f"would delete {place.what}")
    return None


RULE = Rule(
    id="find-delete",
    decision=Decision.ASK,
    reason="would delete all that it finds here",
    instead="say which files, before `-delete`: `find . -name '*.pyc' -delete`",
    commands=("find", "gfind"),
    finds=finds,
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
    ),
)
