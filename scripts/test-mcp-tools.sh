#!/usr/bin/env bash
# Runs the MCP server against programs of the protocol's own people: the inspector, the conformance suite and the
# TypeScript client. Needs node 20 or newer, npm, and what `make test-mcp` has set up. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/mcp-venvs.sh
place=$PWD/.venv-mcp-tools
packages=(
    @modelcontextprotocol/client@2.4.0
    @modelcontextprotocol/conformance@0.2.0-alpha.12
    @modelcontextprotocol/inspector-cli@1.0.3
)
if [[ $(cat "$place/made" 2>/dev/null) != "${packages[*]}" ]]; then
    rm -rf "$place"
    mkdir "$place"
    echo '{"private": true}' >"$place/package.json"
    npm install --prefix "$place" --no-audit --no-fund --ignore-scripts --loglevel=error "${packages[@]}"
    # The inspector's command line looks for its manifest where the whole inspector has it, one directory higher.
    (cd "$place/node_modules/@modelcontextprotocol" && cp inspector-cli/package.json .)
    echo "${packages[*]}" >"$place/made"
fi
export NACRE_MCP_TOOLS=$place/node_modules NACRE_MCP_PYTHON=$PWD/.venv-mcp-only/bin/python
exec .venv-mcp/bin/pytest -m mcp_tools "$@" tests/adapters/mcp
