#!/usr/bin/env bash
# Runs the official MCP inspector against `nacre mcp`. Needs node and npm, and what `make test-mcp` has set up.
# Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."

place=$PWD/.venv-inspector
[[ -x $place/node_modules/.bin/mcp-inspector ]] ||
    npm install --prefix "$place" --no-audit --no-fund --silent '@modelcontextprotocol/inspector@^0.15'
export NACRE_MCP_INSPECTOR=$place/node_modules/.bin/mcp-inspector NACRE_MCP_PYTHON=$PWD/.venv-mcp-only/bin/python
exec .venv-mcp/bin/pytest -m inspector "$@" tests/adapters/mcp
