#!/usr/bin/env bash
# usage: framework-venv.sh NAME
#
# Makes the virtual environment .venv-NAME: nacre, editable, with the extra NAME, and what the tests need to run. The
# newest version of the framework that the extra allows, so nothing here is pinned. Uses PYTHON, or the best that is
# found. Does nothing when it was made from the same project file, in the same place, for the same PYTHON.
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1
venv=.venv-$name

made_from() {
    cksum pyproject.toml scripts/framework-venv.sh
    printf '%s\n' "$PWD" "${PYTHON:-}"
}

if [[ -x $venv/bin/python && $(made_from) == "$(cat "$venv/made-from" 2>/dev/null)" ]]; then
    exit
fi

pythons=$(scripts/pythons.sh)
read -r version python <<<"$pythons"
echo "setting up $venv (Python $version: $python)" >&2
"$python" -m venv --clear "$venv"
"$venv/bin/python" -m pip install -qq --disable-pip-version-check \
    -e ".[$name]" pytest pytest-asyncio pytest-timeout pytest-xdist
made_from >"$venv/made-from"
