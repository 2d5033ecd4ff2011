#!/usr/bin/env bash
# Sets up the two environments of the MCP server's tests: .venv-mcp has the tests and the SDK, .venv-mcp-only has
# `nacre[mcp]` and nothing else, as a user would install it: servers under test are started from there.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/venv.sh .venv-mcp mcp

# What is installed there is a copy: made anew when anything of the project is newer.
only=.venv-mcp-only
if [[ ! -e $only/made || .venv-mcp/made-from -nt $only/made ]]; then
    .venv-mcp/bin/python -m venv --clear "$only"
    "$only/bin/python" -m pip install -qq --disable-pip-version-check '.[mcp]'
    touch "$only/made"
elif [[ -n $(find src -newer "$only/made" -type f -print -quit) ]]; then
    "$only/bin/python" -m pip install -qq --disable-pip-version-check --force-reinstall --no-deps .
    touch "$only/made"
fi
