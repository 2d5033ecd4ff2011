#!/usr/bin/env bash
# Runs the MCP server against the official programs of the protocol: the inspector, the conformance suite and the
# TypeScript client. Needs node 20 or newer, npm, and what `make test-mcp` has set up. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/mcp-venvs.sh
place=$PWD/.venv-mcp-tools
made_from=$(cat pins/mcp-tools/package-lock.json | cksum)
if [[ $(cat "$place/made" 2>/dev/null) != "$made_from" ]]; then
    rm -rf "$place"
    mkdir "$place"
    cp pins/mcp-tools/package.json pins/mcp-tools/package-lock.json "$place"
    npm ci --prefix "$place" --no-audit --no-fund --ignore-scripts --loglevel=error
    # The inspector's command line expects its manifest one directory higher, where the full inspector has it.
    (cd "$place/node_modules/@modelcontextprotocol" && cp inspector-cli/package.json .)
    echo "$made_from" >"$place/made"
fi
export NACRE_MCP_TOOLS=$place/node_modules NACRE_MCP_PYTHON=$PWD/.venv-mcp-only/bin/python
exec .venv-mcp/bin/pytest -m mcp_tools "$@" tests/adapters/mcp
