#!/usr/bin/env bash
# usage: agents.sh DIR
#
# Installs the agents that `nacre hook` guards into DIR, from the npm registry, for `make test-agents`.
# Does nothing if they are installed. pins/agents has their versions and the hashes of all dependencies. Newer versions
# are tested by hand first, then pinned (`npm install --package-lock-only --omit-lockfile-registry-resolved`).
#
# No package runs an install script, except one: Claude Code's moves the program for this system, which npm has
# fetched and verified, into place. Those of keytar and node-pty, optional for Gemini CLI, would compile code.
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
