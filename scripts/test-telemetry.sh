#!/usr/bin/env bash
# usage: test-telemetry.sh [ARGUMENTS FOR PYTEST]
#
# Tests the spans of runs with the real OpenTelemetry SDK, in a separate environment.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.venv-telemetry
scripts/venv.sh "$venv" telemetry
exec "$venv/bin/pytest" -n0 tests/telemetry tests/observe "$@"
