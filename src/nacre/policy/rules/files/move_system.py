"""move-system: moving the root's directories, a home or a system directory away.

Why      nothing finds its programs, libraries or files any more, and what would move them back is among them.
Instead  copy what is needed (`cp -a`), or move the one file that is meant.
Misses   a link that leads there; a path that only running the command would tell; all that is in the working directory,
         which people do move.
"""

from __future__ import annotations

from collections.abc import Iterator

from nacre.policy.facts.precious_paths import Kind, precious
from nacre.policy.facts.writes import Deed, changes
from nacre.policy.rule import Around, Hit, Rule, hit_at
from nacre.shell.command import Command
from nacre.shell.symbolic import least
from nacre.verdict import Decision


def finds(command: Command, around: Around) -> Hit | None:
    return hit_at(_moved(command, around), command)


def _moved(command: Command, around: Around) -> Iterator[tuple[str, Hit]]:
    for deed, target in changes(command):
        if deed is not Deed.TAKES or least(target) != target:
            continue
        place = precious(target, command, around)
        if place is None or place.kind not in (Kind.ROOT, Kind.HOME, Kind.SYSTEM):
            continue
        if place.kind is not Kind.HOME or target[:1] == "/":  # or it is `mv *` by somebody who works at home
            yield target, Hit(reason=f"would move away {place.what}")


RULE = Rule(
    id="move-system",
    decision=Decision.REFUSE,
    reason="would move away what the system is made of",
    instead="copy what is needed with `cp -a`, or move the one file that is meant",
    commands=("mv",),
    finds=finds,
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
