#!/usr/bin/env bash
# Checks for npm, for suites that test programs from its registry. Installs it as root on Debian and its derivatives;
# otherwise says what is missing.
set -euo pipefail
command -v npm >/dev/null && exit
if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qqy nodejs npm >/dev/null && exit
fi
echo "This needs Node.js and npm: install them and try again." >&2
exit 1
