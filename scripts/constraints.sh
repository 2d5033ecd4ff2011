#!/usr/bin/env bash
# usage: constraints.sh UV
#
# Writes constraints.txt and framework-constraints.txt: the newest versions that fit pyproject.toml (the second: with
# all of its extras) and the .in files, for every platform and every Python from 3.11 up, with the hashes of all files
# of each release and without any address.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=$1

if ! command -v "$uv" >/dev/null; then
    echo 'uv is needed: pip install uv, or name it: make constraints UV=/path/to/uv' >&2
    exit 1
fi

pin() {
    local pins
    pins=$("$uv" pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
        --no-annotate --no-header --no-emit-index-url --no-emit-find-links "${@:3}")
    printf '%s\n' "# Written by \`make constraints\` from $2." "$pins" >"$1"
}

pin constraints.txt 'pyproject.toml and dev-requirements.in' pyproject.toml dev-requirements.in
pin framework-constraints.txt 'pyproject.toml, dev-requirements.in and framework-requirements.in' \
    --all-extras pyproject.toml dev-requirements.in framework-requirements.in
