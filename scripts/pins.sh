#!/usr/bin/env bash
# usage: pins.sh UV
#
# Writes pins/*.txt, one for each environment that tests run in: the newest versions that fit pyproject.toml, its extras
# and the .in files, for every platform and every Python from 3.11 up, with the hashes of all files of each release and
# without any address.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=$1

if ! command -v "$uv" >/dev/null; then
    echo 'uv is needed: pip install uv, or name it: make pins UV=/path/to/uv' >&2
    exit 1
fi

write() { # NAME WHAT…: exactly that
    local pins
    pins=$("$uv" pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
        --no-annotate --no-header --no-emit-index-url --no-emit-find-links "${@:2}")
    printf '%s\n' "# Written by \`make pins\` from pyproject.toml and pins/*.in." "$pins" >"pins/$1.txt"
}

pin() { # NAME WHAT…: what it takes beside development
    write "$1" pyproject.toml pins/dev.in "${@:2}"
}

pin dev
pin frameworks pins/frameworks.in --extra anthropic --extra claude-agent-sdk --extra deepagents --extra inspect-ai \
    --extra langchain --extra mcp --extra openai-agents --extra pydantic-ai
# Packages that several environments share have the same version in each.
pin mcp --extra mcp -c pins/dev.txt
pin ray --extra ray -c pins/dev.txt
pin telemetry pins/telemetry.in -c pins/dev.txt
# An environment as a user has it, without development tools.
write mcp-only pyproject.toml --extra mcp -c pins/mcp.txt
write rivals pins/rivals.in
