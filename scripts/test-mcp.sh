#!/usr/bin/env bash
# Runs the tests of the MCP server with the SDK's own client. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/mcp-venvs.sh
tests=(tests/adapters/mcp tests/escapes/test_http_connections.py tests/interface/test_mcp_tools.py)
.venv-mcp/bin/mypy src/nacre/adapters/mcp src/nacre/cli/serve/mcp.py "${tests[@]}"
NACRE_MCP_PYTHON=$PWD/.venv-mcp-only/bin/python exec .venv-mcp/bin/pytest -m mcp "$@" "${tests[@]}" tests/fuzz
