#!/usr/bin/env bash
# usage: test-ray.sh [ARGUMENTS FOR PYTEST]
#
# Tests the Ray engine on a cluster of three nodes on this machine, in a separate environment.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.venv-ray
scripts/venv.sh "$venv" ray
exec "$venv/bin/pytest" -n0 tests/ray "$@"
