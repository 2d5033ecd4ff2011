#!/usr/bin/env bash
# usage: agents.sh DIR
#
# Installs the agents that `nacre hook` guards into DIR, from the npm registry: what `make test-agents` tests against.
# Does nothing when they are there. Newer ones are tried by hand, and then named here.
set -euo pipefail
mkdir -p "$1"
cd "$1"
packages=(@anthropic-ai/claude-code@2.1.197 @openai/codex@0.166.0 @google/gemini-cli@0.61.0)
if [[ $(cat made-from 2>/dev/null) != "${packages[*]}" ]]; then
    npm install --no-save --no-audit --no-fund --loglevel=error --prefix . "${packages[@]}"
    printf '%s' "${packages[*]}" >made-from
fi
