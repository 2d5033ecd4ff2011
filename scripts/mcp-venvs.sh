#!/usr/bin/env bash
# Sets up the two environments of the MCP server's tests: .venv-mcp has the tests and the SDK, .venv-mcp-only has
# `nacre[mcp]` and nothing else, as a user would install it: servers under test are started from there.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/venv.sh .venv-mcp mcp

# nacre is installed there as a copy, and again when a file of the project is newer. Its dependencies are pinned and
# verified by hash; .venv-mcp has the build tools, so that nothing else is fetched.
only=.venv-mcp-only
pip() { "$only/bin/python" -m pip install -qq --disable-pip-version-check "$@"; }

install_copy() {
    local wheels=$only/wheels
    rm -rf "$wheels"
    .venv-mcp/bin/python -m pip wheel -qq --disable-pip-version-check --no-deps --no-build-isolation -w "$wheels" .
    pip --no-index --no-deps --force-reinstall "$wheels"/*.whl
}

if [[ ! -e $only/made || .venv-mcp/made-from -nt $only/made || pins/mcp-only.txt -nt $only/made ]]; then
    .venv-mcp/bin/python -m venv --clear "$only"
    pip --require-hashes -r pins/mcp-only.txt
    install_copy
    touch "$only/made"
elif [[ -n $(find src -newer "$only/made" -type f -print -quit) ]]; then
    install_copy
    touch "$only/made"
fi
