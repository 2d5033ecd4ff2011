#!/usr/bin/env bash
# Portable mode lists processes with `ps`. Installs it as root on Debian, otherwise says what is missing.
set -euo pipefail
if command -v ps >/dev/null; then
    exit
fi
if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends procps
else
    echo 'portable mode needs `ps` (package procps on most systems)' >&2
    exit 1
fi
