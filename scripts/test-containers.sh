#!/usr/bin/env bash
# usage: test-containers.sh [ARGUMENTS FOR PYTEST]
#
# Tests the engines with podman and bubblewrap. Installs both as root on Debian; elsewhere they must be installed.
# Without arguments it also runs other suites' tests that need bubblewrap: those suites run before it is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! { command -v podman && command -v bwrap; } >/dev/null && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends podman runc bubblewrap >/dev/null
fi
scripts/venv.sh .venv
export CONTAINERS_CONF=$PWD/.containers.conf NACRE_TEST_CONTAINERS=
# podman's default limit on descriptors is more than a process without the right to raise limits may set
printf '[containers]\ndefault_ulimits = ["nofile=%d:%d", "nproc=4096:4096"]\n' "$(ulimit -Sn)" "$(ulimit -Hn)" >"$CONTAINERS_CONF"
for program in podman docker; do
    if "$program" images >/dev/null 2>&1; then
        scripts/container-image.sh "$program" localhost/nacre-test
        NACRE_TEST_CONTAINERS+=" $program"
    fi
done
[[ $NACRE_TEST_CONTAINERS ]] || { echo "neither podman nor docker works here" >&2; exit 1; }
.venv/bin/pytest --dist=load tests/engines "$@"
if (($# == 0)); then
    .venv/bin/pytest --dist=load -m bubblewrap tests/escapes tests/cli
    # bubblewrap is mostly used without root.
    [[ $(id -u) != 0 ]] || scripts/test-user.sh --dist=load -m bubblewrap tests/escapes tests/cli
fi
