#!/usr/bin/env bash
# Installs the rivals of the sandbox benchmark as far as possible: bubblewrap, and two packages in .venv-rivals.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v bwrap >/dev/null && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends bubblewrap || true
fi
[[ -x .venv-rivals/bin/python ]] || "${PYTHON:-python3}" -m venv .venv-rivals
for package in sandlock py-landlock; do
    pin=$(sed -n "/^$package==/,/[^\\]\$/p" pins/rivals.txt)
    .venv-rivals/bin/pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes \
        -r <(printf '%s\n' "$pin") || echo "no $package here" >&2
done
