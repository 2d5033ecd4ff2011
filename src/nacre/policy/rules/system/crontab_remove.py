"""crontab-remove: deletes all of a user's cron jobs.

Why      no copy is kept, and `-r` is next to `-e` on the keyboard.
Instead  save it (`crontab -l > crontab.bak`), then install an edited copy (`crontab file`).
Misses   `crontab file` with a file that has fewer entries; changes of files in /var/spool/cron.
"""

from __future__ import annotations

from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.policy.rules._options import parse_options, render, which_program
from nacre.shell.command import Command
from nacre.verdict import Decision


def match(command: Command, _: CheckContext) -> Hit | None:
    if not which_program(command, "crontab"):
        return None
    given = parse_options(command.args, "ucT")
    nothing = any(each.operator == "<" and each.target == "/dev/null" for each in command.redirects)
    nothing = nothing or (command.stdin is not None and not command.stdin.strip())
    emptied = given.operands == ["/dev/null"] or (not given.options and given.operands in ([], ["-"]) and nothing)
    return Hit(render(*command.argv)) if given.has("-r") or emptied else None


RULE = Rule(
    id="crontab-remove",
    decision=Decision.ASK,
    reason="would delete all cron jobs of this user; no copy is kept",
    instead="edit a copy: `crontab -l > crontab.bak`, then `crontab` with the edited file",
    commands=("crontab",),
    match=match,
    hits=(
        "crontab < /dev/null",
        "echo | crontab -",
        "crontab -r",
        "crontab -ri",
        "crontab -u dev -r",
        "crontab -udev -r",
        "crontab -r -u root",
        "crontab /dev/null",
        "/usr/bin/crontab -r",
        "sudo bash -c 'crontab -l > c.bak; crontab -r'",
    ),
    passes=(
        "crontab -l",
        "crontab -l -u robert",
        "crontab -u r -l",
        "crontab -e",
        "crontab jobs.txt",
        "crontab -",
        "crontab -l | grep -v old | crontab -",
        "grep -r crontab .",
    ),
)
