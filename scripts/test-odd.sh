#!/usr/bin/env bash
# usage: test-odd.sh [ARGUMENTS FOR PYTEST]
#
# Runs the tests in an environment with every oddity at once, each of which real machines have:
#   - spaces and letters beyond ASCII in the paths of the clone, HOME and TMPDIR
#   - a TMPDIR of 130 bytes, where the address of a unix socket ends at 108
#   - 256 open files
#   - a seccomp filter like the default ones of docker and podman
#   - /proc mounted with hidepid=2, which hides processes of other users and non-dumpable ones (needs root)
# It uses a copy of the project, which it removes at the end. As root it runs the tests as an unprivileged user.
TEST_ODD=1 exec "$(dirname "$0")/test-user.sh" "$@"
