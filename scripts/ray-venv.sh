#!/usr/bin/env bash
# usage: ray-venv.sh DIR
#
# Makes the virtual environment DIR with all that development needs, and Ray.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/venv.sh "$1"
"$1/bin/python" -m pip install -qq --disable-pip-version-check 'ray>=2.60,<3'
