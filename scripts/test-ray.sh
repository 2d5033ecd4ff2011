#!/usr/bin/env bash
# usage: test-ray.sh [ARGUMENTS FOR PYTEST]
#
# The Ray engine on a cluster of three nodes, all on this machine, in an environment of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.venv-ray
scripts/venv.sh "$venv" ray
exec "$venv/bin/pytest" -n0 tests/ray "$@"
