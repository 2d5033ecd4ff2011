#!/usr/bin/env bash
# usage: venv.sh DIR [NAME]
#
# Makes the virtual environment DIR: the packages pinned in pins/NAME.txt (default: dev), each file verified by
# its hash, and nacre itself, editable. Uses PYTHON, or the best one found. Does nothing if DIR was made from the
# same pins, the same project file, in the same place, for the same PYTHON.
#
# Uses uv if it is pinned too, installed or not: a minute where pip takes six.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$1
pins=pins/${2:-dev}.txt

made_from() {
    cksum "$pins" pyproject.toml scripts/venv.sh
    printf '%s\n' "$PWD" "${PYTHON:-}"
}

if [[ -x $venv/bin/python && $(made_from) == "$(cat "$venv/made-from" 2>/dev/null)" ]]; then
    exit
fi

# -qq: errors only.
pip() { "$venv/bin/python" -m pip install -qq --disable-pip-version-check "$@"; }

by_uv() {
    local uv pin
    pin=$(sed -n '/^uv==/,/[^\\]$/p' "$pins")
    [[ $pin ]] || return
    if ! uv=$(command -v uv); then
        uv=$venv/bin/uv
        pip --require-hashes -r <(printf '%s\n' "$pin") || return
    fi
    "$uv" pip install -qq --python "$venv/bin/python" --require-hashes -r "$pins"
}

pythons=$(scripts/pythons.sh)
read -r version python <<<"$pythons"
echo "setting up $venv (Python $version: $python)" >&2
"$python" -m venv --clear "$venv"
by_uv || pip --require-hashes -r "$pins"
pip --no-deps --no-build-isolation -e .
made_from >"$venv/made-from"
