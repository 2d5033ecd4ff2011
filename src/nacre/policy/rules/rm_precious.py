"""rm-precious: deleting what a task cannot own: system directories, the working directory, a repository's history.

Why      it does not come back. A bare `*` or `.` depends on where the command happens to run, `"$X"/*` on X being set.
Instead  name the directory (`rm -rf ./build`, `build/*`), or write `"${X:?}"/*`, which stops when X is empty.
Misses   a link that leads there; a directory of yours that matters just as much (`~/thesis`).
"""

from __future__ import annotations

from collections.abc import Iterator

from nacre.policy.paths import Kind, precious
from nacre.policy.rule import Around, Hit, Rule, hit_at
from nacre.shell.command import Command
from nacre.shell.text import STAR, least
from nacre.verdict import Decision

_BELOW = f"/{STAR}{STAR}"
"""What `find` prints that chooses nothing."""
_CHOOSE = "say which files: `find build -name '*.o' -delete`"


def finds(command: Command, around: Around) -> Hit | None:
    if command.has("-r", "-R", "--r", "--recursive"):
        return hit_at(_targets(command, around), command)
    if command.parent is None or command.parent.name not in ("xargs", "gxargs", "parallel"):
        return None
    for target in command.operands():
        if target.endswith(_BELOW) and (place := precious(target, command, around)):
            return Hit(reason=f"would delete every file of {place.what}", instead=_CHOOSE)
    return None


def _targets(command: Command, around: Around) -> Iterator[tuple[str, Hit]]:
    for target in command.operands():
        if place := precious(target, command, around):
            if least(target) != target:
                careful = 'let it stop when empty, as in `"${X:?}"/*`, or name the directory'
                yield target, Hit(reason=f"would delete {place.what}", instead=careful)
            elif place.kind not in (Kind.ROOT, Kind.HOME):
                yield target, Hit(reason=f"would delete {place.what}")


RULE = Rule(
    id="rm-precious",
    decision=Decision.REFUSE,
    reason="would delete what cannot be brought back",
    instead="name the one directory that has to go, as in `rm -rf ./build` or `build/*`",
    commands=("rm",),
    finds=finds,
    hits=(
        "rm -rf *",
        "rm -rf .* *",
        "rm -r .",
        "rm -rf {*,.*}",
        "rm -rf */",
        "rm -rf ./src/../",
        "cd build; rm -rf *",
        "rm -rf .git",
        "cd src && rm -rf ../.git",
        "rm -rf /etc",
        "rm -rf /srv/*",
        "cd / && rm -rf usr",
        "sudo sh -c 'rm -rf /var/*'",
        "rm -rf ~/project",
        "rm -rf /mnt/c",
        "rm -rf ~/Documents",
        'rm -rf "$X"/*',
        'rm -rf "$X/"',
        "rm -rf /$X",
        'rm -rf "$X/etc"',
        "rm -rf ./$X",
        '[ -n "$X" ] && echo ok; rm -rf "$X"/*',
        '! [ -n "$X" ] && rm -rf "$X"/*',
        "find . -type f | xargs rm -f",
        "find / -type f -print0 | xargs -0 rm -f",
        "find . -name .git -exec rm -rf {} +",
        'for d in /usr /var; do rm -rf "$d"; done',
    ),
    passes=(
        "rm -rf build dist/*",
        "rm -rf node_modules",
        "rm -rf /tmp/* ~/.config/app",
        "rm -rf *.o .*_cache",
        "rm *",
        'rm -rf "*"',
        "rm -rf template/.git",
        "rm -f .git/index.lock",
        "rm -rf /var/lib/apt/lists/*",
        "rm -rf /usr/local/go",
        'rm -rf "$scratch"',
        'rm -rf "$BUILD_DIR/dist"',
        'rm -rf "${X:?}"/*',
        ': "${X:?}"; rm -rf "$X"/*',
        'set -u; rm -rf "$X"/*',
        '[ -n "$X" ] && rm -rf "$X"/*',
        'if [ -d "$X" ]; then rm -rf "$X"/*; fi',
        "X=build; rm -rf $X/*",
        "find . -type f -name '*.o' -print0 | xargs -0 rm -f",
        "find . -maxdepth 1 -type f | xargs rm -f",
        "find build -type f | xargs rm -f",
        "cd src/pkg && rm -rf ../../dist",
    ),
)
