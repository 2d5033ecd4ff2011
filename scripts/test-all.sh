#!/usr/bin/env bash
# Runs the tests on every Python from 3.11 up that is installed, each in its own .venv-3.x. Arguments go to pytest.
# SKIP names versions to leave out: SKIP='3.11 3.14'.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=()
pythons=$(scripts/pythons.sh)
while read -r version python <&3; do
    [[ " ${SKIP:-} " == *" $version "* ]] && continue
    printf '\n=== Python %s\n' "$version"
    PYTHON=$python scripts/venv.sh ".venv-$version" && ".venv-$version/bin/pytest" "$@" || failed+=("$version")
done 3<<<"$pythons"

if ((${#failed[@]})); then
    printf '\nfailed on Python %s\n' "${failed[*]}" >&2
    exit 1
fi
