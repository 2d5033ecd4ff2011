#!/usr/bin/env bash
# Runs the tests as a user without privileges. Arguments go to pytest.
#
# From root the tests run as TEST_UID (nobody), who may reach neither this clone nor this Python: so in a copy of the
# project, with a Python that this user was seen to run, and with a home of its own. The copy is removed at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
uid=${TEST_UID:-65534}

if [[ $(id -u) != 0 ]]; then
    echo "not root, so this is the plain test run, as uid $(id -u)"
    scripts/venv.sh .venv
    exec .venv/bin/pytest "$@"
fi

pythons=$(scripts/pythons.sh)
read -r _ root_python <<<"$pythons"
drop='
import os, sys
os.setgroups([])
os.setgid(int(sys.argv[1]))
os.setuid(int(sys.argv[1]))
os.chdir(sys.argv[2])
os.execvp(sys.argv[3], sys.argv[3:])
'
# "${as_user[@]}" DIR COMMAND…
as_user=("$root_python" -I -c "$drop" "$uid")

umask 022
place=${TMPDIR:-/tmp}
"${as_user[@]}" "$place" true 2>/dev/null || place=/tmp
work=$(mktemp -d "$place/nacre-user.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
chmod 755 "$work"
mkdir "$work/project" "$work/home" "$work/tmp"

# Tracked and new files, as they are now. The clone may belong to somebody else, which git would refuse.
git -c safe.directory='*' ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done |
    tar -c --null -T - | tar -x --no-same-owner -C "$work/project"

if pythons=$(scripts/pythons.sh "${as_user[@]}" / 2>/dev/null); then
    read -r _ python <<<"$pythons"
else
    prefix=$("$root_python" -I -c 'import sys; print(sys.base_prefix)')
    echo "uid $uid can run no Python here: taking a copy of $prefix" >&2
    mkdir "$work/python"
    tar -c -C "$prefix" --exclude=site-packages --exclude=__pycache__ --exclude=./lib/python3.*/test . |
        tar -x --no-same-owner -C "$work/python"
    python=$work/python/bin/python3
    export LD_LIBRARY_PATH="$work/python/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
fi
PYTHON=$python "$work/project/scripts/venv.sh" .venv
chown -R "$uid:$uid" "$work"
chmod 700 "$work/home" "$work/tmp"

echo "running the tests as uid $uid in $work/project"
env -i PATH="$PATH" HOME="$work/home" TMPDIR="$work/tmp" LANG="${LANG:-C.UTF-8}" TERM="${TERM:-dumb}" \
    ${LD_LIBRARY_PATH:+LD_LIBRARY_PATH="$LD_LIBRARY_PATH"} \
    "${as_user[@]}" "$work/project" .venv/bin/pytest "$@"
