"""chmod-777: makes a whole tree writable for all users.

Why      every account on the machine can then change the files, including programs and keys; the old modes are lost.
Instead  give the owner the missing rights: `chmod -R u+rwX dir`; or name one file.
Misses   a mode that is known only at run time; access lists (`setfacl`).
"""

from __future__ import annotations

from nacre.base.lazy_regex import lazy_regex
from nacre.policy.rule import CheckContext, Hit, Rule, hit_at
from nacre.shell.command import Command
from nacre.shell.symbolic import STAR
from nacre.verdict import Decision

_OPENS = lazy_regex(r"[+=]?[0-7]*[2367]|[ug]*[oa][ugoa]*(?:[-+=][rwxXst]*)*[+=][rxXst]*w[rwxXst]*")
"""Matches a part of a mode that lets others write."""


def match(command: Command, context: CheckContext) -> Hit | None:
    spread = command.parent is not None and command.parent.name in ("find", "xargs") and command.argv[-1].endswith(STAR)
    if not (spread or command.has_flag("-R", "--recursive")) or command.has_flag("--reference"):
        return None
    mode, *targets = command.operands() or [""]
    opens = any(map(_OPENS.fullmatch, mode.split(",")))
    return hit_at(((target, Hit()) for target in targets or [""]), command) if opens else None


RULE = Rule(
    id="chmod-777",
    decision=Decision.REFUSE,
    reason="would let everybody write to the whole tree",
    instead="give the owner what is missing: `chmod -R u+rwX dir`",
    commands=("chmod",),
    match=match,
    hits=(
        "chmod -R 777 .",
        "find . -type d -exec chmod 777 {} +",
        "find . -print0 | xargs -0 chmod 777",
        "chmod 777 -R dist",
        "chmod --rec 0777 build",
        "chmod -vR 1777 data",
        "chmod -R 666 .",
        "chmod -R a+rwx .",
        "chmod -R ugo+rwX src",
        "chmod -R u=rwx,g=rwx,o=rwx src",
        "chmod -R o+w .",
        "sudo chmod -R a=rwx /var/www",
        "bash -c 'chmod -Rf 777 ./data'",
        "m=777; chmod -R $m .",
    ),
    passes=(
        "chmod 777 file",
        "chmod -R 755 dist",
        "chmod -R u+rwX,go+rX .",
        "chmod -R go-w .",
        "chmod -R o-w .",
        "chmod -R +x bin",
        "chmod -R g+w shared",
        "chmod +x 777.sh",
        "echo chmod -R 777 /",
    ),
)
