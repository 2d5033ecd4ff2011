"""move-to-null: moves a file to /dev/null, which deletes it or replaces the device.

Why      as root the file replaces /dev/null, and programs that write there fill the disk; otherwise it is lost.
Instead  `rm file` to delete it.
Misses   other devices; a target that is known only at run time.
"""

from __future__ import annotations

from nacre.policy.facts.writes import WriteKind, changes
from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.shell import Command
from nacre.shell.paths import absolute
from nacre.verdict import Decision


def match(command: Command, context: CheckContext) -> Hit | None:
    redirected = [each.target for each in command.redirects]
    for deed, target in changes(command):
        if deed is WriteKind.WRITE and target not in redirected and absolute(target, command.cwd) == "/dev/null":
            return Hit()
    return None


RULE = Rule(
    id="move-to-null",
    decision=Decision.REFUSE,
    reason="would lose the file, or put it in the place of /dev/null",
    instead="`rm` with the name of the file, if it should go",
    commands=("mv",),
    match=match,
    hits=(
        "mv x /dev/null",
        "mv -f src /dev/null",
        "sudo mv a.txt b.txt /dev/null",
        "mv -- x /dev//null",
        "mv -t /dev/null src",
        "cd /dev && mv /tmp/x null",
        "bash -c 'mv x /dev/./null'",
        "find . -name '*.log' -exec mv {} /dev/null \\;",
    ),
    passes=(
        "mv a b > /dev/null",
        "mv a b 2>/dev/null || true",
        "cp x /dev/null",
        "cat x > /dev/null",
        "mv null /tmp/dev/null",
        "echo mv x /dev/null",
        "mv a b &>/dev/null",
    ),
)
