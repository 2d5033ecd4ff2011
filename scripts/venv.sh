#!/usr/bin/env bash
# usage: venv.sh DIR
#
# Makes the virtual environment DIR: the pinned development dependencies, each checked by its hash, and nacre itself,
# editable. Uses PYTHON, or the best that is found. Does nothing when DIR was made from the same pins, the same project
# file, in the same place, for the same PYTHON.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$1

made_from() {
    cksum constraints.txt pyproject.toml scripts/venv.sh
    printf '%s\n' "$PWD" "${PYTHON:-}"
}

if [[ -x $venv/bin/python && $(made_from) == "$(cat "$venv/made-from" 2>/dev/null)" ]]; then
    exit
fi

pythons=$(scripts/pythons.sh)
read -r version python <<<"$pythons"
echo "setting up $venv (Python $version: $python)" >&2
"$python" -m venv --clear "$venv"
# Twice quiet: errors only.
"$venv/bin/python" -m pip install -qq --disable-pip-version-check --require-hashes -r constraints.txt
"$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
made_from >"$venv/made-from"
