"""rm-precious: deletes what no task owns: system directories, the working directory, a repository's history.

Why      it cannot be undone. A bare `*` or `.` depends on where the command happens to run, `"$X"/*` on X being set.
Instead  name the directory (`rm -rf ./build`, `build/*`), or write `"${X:?}"/*`, which stops when X is empty.
Misses   a link that leads there; a directory of yours that matters just as much (`~/thesis`); of the files that
         `find` has found, those deleted on any condition, or by a script (`xargs -I{} sh -c 'rm {}'`); files of
         this machine that a container mounts (`docker run -v /:/host alpine rm -rf /host`).
"""

from __future__ import annotations

from collections.abc import Iterator

from nacre.policy.facts.find_usage import deletes_everything, found_by
from nacre.policy.facts.precious_paths import PlaceKind, protected_place
from nacre.policy.facts.recursive_delete import NODES, deletes_trees, trees
from nacre.policy.rule import CheckContext, Hit, Rule, hit_at
from nacre.shell.command import Command
from nacre.shell.symbolic import with_unknowns_empty
from nacre.verdict import Decision

_CHOOSE = "say which files: `find build -name '*.o' -delete`"


def match(command: Command, context: CheckContext) -> Hit | None:
    if deletes_trees(command):
        return hit_at(_targets(command, context), command)
    place = deletes_everything(command, context)
    if place is None or found_by(command) is not None:
        return None
    return Hit(reason=f"would delete every file of {place.what}", instead=_CHOOSE)


def _targets(command: Command, context: CheckContext) -> Iterator[tuple[str, Hit]]:
    for target in trees(command):
        if place := protected_place(target, command, context):
            if with_unknowns_empty(target) != target:
                careful = 'let it stop when empty, as in `"${X:?}"/*`, or name the directory'
                yield target, Hit(reason=f"would delete {place.what}", instead=careful)
            elif place.kind not in (PlaceKind.ROOT, PlaceKind.HOME):
                yield target, Hit(reason=f"would delete {place.what}")


RULE = Rule(
    id="rm-precious",
    decision=Decision.REFUSE,
    reason="would delete files that cannot be recovered",
    instead="name the one directory that has to go, as in `rm -rf ./build` or `build/*`",
    commands=("rm", "unlink", *NODES),
    match=match,
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
        'find / -type f | while read -r f; do rm -f "$f"; done',
        "find ~ -type f -print0 | while IFS= read -r -d '' f; do rm -f \"$f\"; done",
        'while read -r f; do rm "$f"; done < <(find . -type f)',
        'for f in $(find ~ -type f); do rm -f "$f"; done',
        "rm -f $(find . -type f)",
        'mapfile -t a < <(find . -type f); rm -f "${a[@]}"',
        "find . -type f | xargs -n1 unlink",
        "find . -maxdepth 0 -exec bash -c 'find . -type f | xargs rm -f' \\;",
        "fd -t f . ~ | xargs rm -f",
        "fd -H . -X rm -rf",
        "find . -name .git -exec rm -rf {} +",
        'for d in /usr /var; do rm -rf "$d"; done',
        "npx rimraf .",
        "npx rimraf --glob '*'",
        "pnpm exec rimraf .git",
        "npx del-cli@5 '**'",
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
        "find . -name '*.pyc' | while read -r f; do rm -f \"$f\"; done",
        "for f in $(find . -name '*.pyc'); do rm -f \"$f\"; done",
        "rm -f $(find . -name '*.orig')",
        'find . -type f | while read -r f; do grep -q x "$f" && rm "$f"; done',
        'find . -type f | while read -r f; do grep -q x "$f" || continue; rm "$f"; done',
        'find . -type f | while read -r f; do [ -s "$f" ] || rm "$f"; done',
        'find . -type f | while read -r f; do rm -f "$f.bak"; done',
        'for f in $(find . -type f); do case "$f" in *.o) rm "$f";; esac; done',
        'mapfile -t a < <(find build -type f); rm -f "${a[@]}"',
        "fd -e pyc | xargs rm",
        "fd -t d node_modules -x rm -rf",
        "rm -f ./**",
        "npx rimraf dist node_modules",
        "npx rimraf 'dist/*' '**/*.js'",
        "npx --yes del-cli 'dist/**' '!dist/keep'",
        "cd src/pkg && rm -rf ../../dist",
    ),
)
