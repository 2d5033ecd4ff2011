"""move-system: moves the root's directories, a home or a system directory away.

Why      programs do not find their libraries and files any more, and the program to move them back is among them.
Instead  copy what is needed (`cp -a`), or move the one file that you mean.
Misses   a link that leads there; a path that is known only at run time; everything in the working directory, which is
         often moved on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator

from nacre.policy.facts.precious_paths import PlaceKind, protected_place
from nacre.policy.facts.writes import WriteKind, changes
from nacre.policy.rule import CheckContext, Hit, Rule, hit_at
from nacre.shell.command import Command
from nacre.shell.symbolic import with_unknowns_empty
from nacre.verdict import Decision


def match(command: Command, context: CheckContext) -> Hit | None:
    return hit_at(_moved_places(command, context), command)


def _moved_places(command: Command, context: CheckContext) -> Iterator[tuple[str, Hit]]:
    for deed, target in changes(command):
        if deed is not WriteKind.REMOVE or with_unknowns_empty(target) != target:
            continue
        place = protected_place(target, command, context)
        if place is None or place.kind not in (PlaceKind.ROOT, PlaceKind.HOME, PlaceKind.SYSTEM):
            continue
        if place.kind is not PlaceKind.HOME or target[:1] == "/":  # else it is `mv *` in a home directory
            yield target, Hit(reason=f"would move away {place.what}")


RULE = Rule(
    id="move-system",
    decision=Decision.REFUSE,
    reason="would move system files away",
    instead="copy what is needed with `cp -a`, or move the one file that is meant",
    commands=("mv",),
    match=match,
    hits=(
        "mv /* /tmp",
        "mv -t /tmp /*",
        "cd / && mv * /tmp",
        "mv ~ /tmp",
        "mv ~/* /tmp/backup",
        "mv /home/alice /srv",
        "mv /usr /usr.old",
        "sudo mv /var/lib /data/",
        "bash -c 'mv /lib64 /tmp'",
    ),
    passes=(
        "mv build /tmp/",
        "mv * ../dest/",
        "mv ./* build/",
        "mv /tmp/* .",
        "mv ~/Downloads/x.tar .",
        "mv x /usr/local/bin/x",
        "mv /var/log/app/* /tmp/logs",
        'mv "$X"/* dist/',
        "echo mv /usr /tmp",
    ),
)
