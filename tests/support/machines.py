"""Simulated machines with missing parts: each function returns an argv prefix that starts a program there.

Each is a private mount or PID namespace, of root or in a user namespace. Skips the test where namespaces are not
available.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.support.waiting import HANG_TIMEOUT_S

Through = tuple[str, ...]

_NO_PROC = 'mount -t tmpfs none /proc && exec "$@"'
_NO_DEV_FD = """
place=$1; shift
mount -t tmpfs none "$place" && mkdir "$place/shm" "$place/pts" || exit
for name in null zero full random urandom tty ptmx; do
    touch "$place/$name" && mount --bind "/dev/$name" "$place/$name" || exit
done
mount --rbind "$place" /dev && exec "$@"
"""
_NO_TEMPORARY = """
for place in /tmp /var/tmp /usr/tmp; do
    [ ! -d "$place" ] || { mount --bind "$place" "$place" && mount -o remount,bind,ro "$place"; } || exit
done
unset TMPDIR TEMP TMP
cd /proc && exec "$@"
"""


_CLOSED_MOUNT = """
place=$1 owner=$2; shift 2
mkdir -p "$place/disk" && mount -t tmpfs none "$place/disk" && chmod 700 "$place" && chown "$owner" "$place" || exit
exec unshare --user --map-root-user --mount "$@"
"""


def mount_out_of_reach(place: Path) -> Through:
    """Return a prefix for a user namespace with a mount below another user's closed directory. Needs root."""
    if os.geteuid() != 0:
        pytest.skip("only root can change the owner of a directory")
    return _prepare_command(_CLOSED_MOUNT, str(place), str(os.getpid() + 100_000))  # any user but root


def stale_proc() -> Through:
    """Return a prefix that starts in a new PID namespace, with the /proc of the outer one."""
    return _unshare("--pid", "--fork")


def fresh_proc() -> Through:
    """Return a prefix that starts in a new PID namespace with its own /proc."""
    return _unshare("--pid", "--fork", "--mount-proc")


def no_proc() -> Through:
    return _prepare_command(_NO_PROC)


def no_dev_fd(place: Path) -> Through:
    """Return a prefix that starts with a /dev without `fd`, built in the empty directory `place`."""
    return _prepare_command(_NO_DEV_FD, str(place))


def no_temporary_directory() -> Through:
    """Return a prefix that starts with read-only temporary directories and without TMPDIR, TEMP and TMP."""
    return _prepare_command(_NO_TEMPORARY)


def _prepare_command(script: str, *arguments: str) -> Through:
    if shutil.which("mount") is None:
        pytest.skip("needs mount")
    through = (*_unshare("--mount", "--propagation", "private"), "sh", "-c", script, "sh", *arguments)
    done = subprocess.run([*through, "true"], capture_output=True, text=True, check=False, timeout=HANG_TIMEOUT_S)
    if done.returncode:
        pytest.skip(f"such a machine cannot be simulated here: {done.stderr.strip()}")
    return through


@cache
def _unshare(*flags: str) -> Through:
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare")
    through = ("unshare", *(() if os.geteuid() == 0 else ("--user", "--map-root-user")), *flags)
    done = subprocess.run([*through, "true"], capture_output=True, text=True, check=False, timeout=HANG_TIMEOUT_S)
    if done.returncode:
        pytest.skip(f"no namespaces here: {done.stderr.strip()}")
    return through
