#!/usr/bin/env bash
# usage: test-frameworks.sh [NAME…]
#
# Runs the tests of the adapters with their frameworks, all of them or the named ones (langchain, inspect-ai, …), in
# the environment .venv-frameworks, which it makes. ARGS go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/venv.sh .venv-frameworks frameworks

tests=()
for name; do
    tests+=("tests/adapters/test_${name//-/_}"*.py)
done
((${#tests[@]})) || tests=(tests/adapters/test_*.py)

# We cannot fix the frameworks' own warnings. Files go to the next free worker: some take ten times as long as others.
# shellcheck disable=SC2086
exec .venv-frameworks/bin/pytest -m framework -o filterwarnings=default -p no:benchmark --dist=worksteal "${tests[@]}" ${ARGS:-}
