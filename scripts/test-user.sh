#!/usr/bin/env bash
# Runs the tests as a user without privileges. Arguments go to pytest.
#
# As root it runs them as TEST_UID (nobody), which may have no access to this clone and this Python: so in a copy of the
# project, with a Python that this user can run, and with a private home. It removes the copy at the end.
# TEST_ODD=1 makes that environment odd: see test-odd.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
uid=${TEST_UID:-65534}

odd=${TEST_ODD:-}
if [[ $(id -u) != 0 && ! $odd ]]; then
    echo "not root, so this is the plain test run, as uid $(id -u)"
    scripts/venv.sh .venv
    exec .venv/bin/pytest "$@"
fi

[[ $(id -u) == 0 ]] || uid=$(id -u)
pythons=$(scripts/pythons.sh)
read -r _ root_python <<<"$pythons"
drop='
import os, sys
if os.getuid() == 0:
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
work=$(mktemp -d "$place/nacre${odd:+ ödd}-user.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
chmod 755 "$work"
project=$work/project home=$work/home tmp=$work/tmp
if [[ $odd ]]; then
    project="$work/clöne of 测试" home="$work/hôme of ånyone" tmp="$work/tmp é "
    length() { local LC_ALL=C; echo "${#tmp}"; }
    while (($(length) < 130)); do tmp+=x; done
fi
mkdir "$project" "$home" "$tmp"

# Tracked and new files, as they are now. git would refuse a clone that belongs to another user.
git -c safe.directory='*' ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done |
    tar -c --null -T - | tar -x --no-same-owner -C "$project"

if pythons=$(scripts/pythons.sh "${as_user[@]}" / 2>/dev/null); then
    read -r _ python <<<"$pythons"
else
    prefix=$("$root_python" -I -c 'import sys; print(sys.base_prefix)')
    echo "uid $uid can run no Python here: copying $prefix" >&2
    mkdir "$work/python"
    tar -c -C "$prefix" --exclude=site-packages --exclude=__pycache__ --exclude=./lib/python3.*/test . |
        tar -x --no-same-owner -C "$work/python"
    python=$work/python/bin/python3
    export LD_LIBRARY_PATH="$work/python/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
fi
PYTHON=$python "$project/scripts/venv.sh" .venv
[[ $(id -u) != 0 ]] || chown -R "$uid:$uid" "$work"
chmod 700 "$home" "$tmp"

# The commands that the tests run through: as root, then as the user.
outer=() inner=()
if [[ $odd ]]; then
    ulimit -n 256
    inner=(.venv/bin/python -m tests.support.container_profile)
    # In a PID namespace this /proc is private: the options of the machine's /proc do not change.
    hide='mount -t proc -o hidepid=2 proc /proc && "$@"; exit'
    outer=(unshare --mount --propagation private --pid --fork --kill-child bash -c "$hide" hidepid)
    if ! "${outer[@]}" true 2>/dev/null; then
        echo 'without hidepid=2, which needs root and namespaces' >&2
        outer=()
    fi
fi
echo "running the tests as uid $uid in $project, TMPDIR=$tmp"
"${outer[@]}" env -i PATH="$PATH" HOME="$home" TMPDIR="$tmp" LANG="${LANG:-C.UTF-8}" TERM="${TERM:-dumb}" \
    ${LD_LIBRARY_PATH:+LD_LIBRARY_PATH="$LD_LIBRARY_PATH"} \
    "${as_user[@]}" "$project" "${inner[@]}" .venv/bin/pytest "$@"
