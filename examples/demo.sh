#!/usr/bin/env bash
# What nacre does, in a minute. `make demo` runs it; `nacre` must be on PATH.
set -euo pipefail

show() {
    printf '\n$ %s\n' "$*"
    "$@" || printf '(exit %s)\n' "$?"
}

show nacre doctor
show nacre run 'echo hello from "$BASH"'
show nacre run 'echo to stdout; echo to stderr >&2; exit 3'
show nacre run --timeout 1 'echo partial; sleep 60'
