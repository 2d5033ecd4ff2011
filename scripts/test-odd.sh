#!/usr/bin/env bash
# usage: test-odd.sh [ARGUMENTS FOR PYTEST]
#
# Runs the tests in one place that is odd in every way at once, each of them seen on a real machine:
#   - spaces and letters beyond ASCII in the paths of the clone, HOME and TMPDIR
#   - a TMPDIR of 130 bytes, where the address of a unix socket ends at 108
#   - 256 open files
#   - a seccomp filter like the default ones of docker and podman
#   - /proc mounted with hidepid=2, where a user sees no process of others and none that hides (needs root to set up)
# It is a copy of the project that is removed at the end; from root the tests run as a user.
TEST_ODD=1 exec "$(dirname "$0")/test-user.sh" "$@"
