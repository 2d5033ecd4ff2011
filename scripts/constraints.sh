#!/usr/bin/env bash
# usage: constraints.sh UV
#
# Writes constraints.txt: the newest versions that fit pyproject.toml and dev-requirements.in, for every platform and
# every Python from 3.11 up, with the hashes of all files of each release and without any address.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=$1

if ! command -v "$uv" >/dev/null; then
    echo 'uv is needed: pip install uv, or name it: make constraints UV=/path/to/uv' >&2
    exit 1
fi
pins=$("$uv" pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
    --no-annotate --no-header --no-emit-index-url --no-emit-find-links pyproject.toml dev-requirements.in)
{
    echo '# Written by `make constraints` from pyproject.toml and dev-requirements.in.'
    printf '%s\n' "$pins"
} >constraints.txt
