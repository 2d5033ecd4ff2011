"""user-delete: deletes an account, or its password.

Why      its files have no owner any more, or anyone can log in.
Instead  `usermod -L name` locks it, and can be undone.
Misses   accounts of a directory service.
"""

from __future__ import annotations

from nacre.policy.rule import CheckContext, Hit, Rule
from nacre.shell import Command
from nacre.verdict import Decision


def match(command: Command, context: CheckContext) -> Hit | None:
    if command.has_flag("--help", "--version"):
        return None
    if command.name == "passwd":
        return Hit(reason="would let anybody log in without a password") if command.has_flag("-d", "--delete") else None
    if command.name == "dscl":
        found = "-delete" in command.args and any(word.startswith("/Users/") for word in command.args)
        return Hit() if found else None
    return Hit() if command.operands() else None


RULE = Rule(
    id="user-delete",
    decision=Decision.ASK,
    reason="would delete an account of this machine",
    instead="`usermod -L name`, which locks it and can be undone",
    commands=("userdel", "deluser", "groupdel", "delgroup", "passwd", "dscl"),
    match=match,
    hits=(
        "userdel alice",
        "sudo userdel -r alice",
        "deluser --remove-home alice",
        "groupdel staff",
        "passwd -d root",
        "sudo passwd --delete root",
        "bash -c 'userdel -f bob'",
        "dscl . -delete /Users/alice",
    ),
    passes=(
        "userdel --help",
        "useradd alice",
        "passwd",
        "passwd -S alice",
        "usermod -L alice",
        "man userdel",
        "dscl . -list /Users",
        "echo userdel alice",
    ),
)
