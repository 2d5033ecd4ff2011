#!/usr/bin/env bash
# Lists the Pythons to test with, best first, one per minor version: "3.12 /where/it/is/python3.12".
#
# Usable means a released CPython from 3.11 up that can make a venv; each is tested, whatever its name. PYTHON=…
# restricts the search to that one. Arguments are put before each test command, so `pythons.sh sudo -u nobody`
# lists what that user can run.
set -euo pipefail

trial='
import sys, venv, ensurepip
v = sys.version_info
if v < (3, 11) or v.releaselevel != "final" or sys.implementation.name != "cpython":
    sys.exit(1)
print(f"{v.major}.{v.minor}", sys.executable)
'
if [[ -n ${PYTHON:-} ]]; then
    candidates=("$PYTHON")
else
    shopt -s nullglob
    candidates=(python3.{13,12,11} python3 python3.{14..19} "${PYENV_ROOT:-${HOME:-/nowhere}/.pyenv}"/versions/*/bin/python3)
fi

seen=' '
for candidate in "${candidates[@]}"; do
    found=$("$@" "$candidate" -I -c "$trial" 2>/dev/null </dev/null) || continue
    [[ $seen == *" ${found%% *} "* ]] && continue
    seen+="${found%% *} "
    printf '%s\n' "$found"
done

if [[ $seen == ' ' ]]; then
    echo "nacre needs ${PYTHON:+$PYTHON to be }a Python from 3.11 up that can make a venv, and found none." >&2
    echo 'Install one (on Debian and Ubuntu: python3 and python3-venv), or name it: make PYTHON=/path/to/python3 …' >&2
    exit 1
fi
