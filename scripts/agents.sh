#!/usr/bin/env bash
# usage: agents.sh DIR
#
# Installs the agents that `nacre hook` guards into DIR, from the npm registry: what `make test-agents` tests against.
# Does nothing when they are there. Their versions and the hashes of all that they need are in pins/agents; newer ones
# are tried by hand, and then named there (`npm install --package-lock-only --omit-lockfile-registry-resolved`).
#
# No package runs a script of its own, but one: that of Claude Code puts the program for this system, which npm has
# fetched and checked, in its place. keytar and node-pty, which Gemini CLI can do without, would compile something.
set -euo pipefail
pins=$(cd "$(dirname "$0")/../pins/agents" && pwd)
mkdir -p "$1"
cd "$1"
made_from=$(cat "$pins/package-lock.json" | cksum)
if [[ $(cat made-from 2>/dev/null) != "$made_from" ]]; then
    cp "$pins/package.json" "$pins/package-lock.json" .
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
    (cd node_modules/@anthropic-ai/claude-code && node install.cjs)
    printf '%s' "$made_from" >made-from
fi
