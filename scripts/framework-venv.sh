#!/usr/bin/env bash
# usage: framework-venv.sh DIR
#
# Makes the virtual environment DIR: every framework that there is an adapter for, together, as pinned in
# framework-constraints.txt, each file checked by its hash; what the tests need; nacre itself, editable. Uses PYTHON, or
# the best that is found. Does nothing when DIR was made from the same pins, the same project file, in the same place,
# for the same PYTHON.
#
# By uv, the one that is here or the pinned one: a minute where pip takes six. By pip where uv cannot.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$1
pins=framework-constraints.txt

made_from() {
    cksum $pins pyproject.toml scripts/framework-venv.sh
    printf '%s\n' "$PWD" "${PYTHON:-}"
}

if [[ -x $venv/bin/python && $(made_from) == "$(cat "$venv/made-from" 2>/dev/null)" ]]; then
    exit
fi

pip() { "$venv/bin/python" -m pip install -qq --disable-pip-version-check "$@"; }

pythons=$(scripts/pythons.sh)
read -r version python <<<"$pythons"
echo "setting up $venv (Python $version: $python)" >&2
"$python" -m venv --clear "$venv"
if ! uv=$(command -v uv); then
    uv=$venv/bin/uv
    pip --require-hashes -r <(sed -n '/^uv==/,/[^\\]$/p' $pins)
fi
"$uv" pip install -qq --python "$venv/bin/python" --require-hashes -r $pins || pip --require-hashes -r $pins
pip --no-deps --no-build-isolation -e .
made_from >"$venv/made-from"
