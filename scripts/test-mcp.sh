#!/usr/bin/env bash
# Runs the tests of the MCP server with the SDK's own client. Arguments go to pytest.
#
# Two environments: .venv-mcp has the tests and the SDK, .venv-mcp-only has `nacre[mcp]` and nothing else, as a user
# would install it: servers under test are started from there.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/venv.sh .venv-mcp
if [[ ! -e .venv-mcp/has-sdk || .venv-mcp/made-from -nt .venv-mcp/has-sdk ]]; then
    .venv-mcp/bin/python -m pip install -qq --disable-pip-version-check --no-build-isolation -e '.[mcp]'
    touch .venv-mcp/has-sdk
fi

# What is installed there is a copy: made anew when anything of the project is newer.
only=.venv-mcp-only
if [[ ! -e $only/made || -n $(find src pyproject.toml -newer "$only/made" -type f -print -quit) ]]; then
    [[ -x $only/bin/python ]] || .venv-mcp/bin/python -m venv "$only"
    "$only/bin/python" -m pip install -qq --disable-pip-version-check --upgrade --force-reinstall --no-deps .
    "$only/bin/python" -m pip install -qq --disable-pip-version-check '.[mcp]'
    touch "$only/made"
fi

.venv-mcp/bin/mypy src/nacre/adapters/mcp src/nacre/cli/mcp.py tests/adapters/mcp
NACRE_MCP_PYTHON=$PWD/$only/bin/python exec .venv-mcp/bin/pytest -m mcp "$@" tests/adapters/mcp
