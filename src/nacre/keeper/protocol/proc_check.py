"""Check that /proc shows this process's PID namespace: nacre finds the processes to kill there.

`unshare --pid --fork` without `--mount-proc` leaves the outer /proc in place: its PIDs belong to other processes than
those that `kill` reaches, and kernel threads look like children. Both host and keeper check: a host can start its
children in another PID namespace than its own.
"""

from __future__ import annotations

import os
import sys

PROC_UNUSABLE = "nacre cannot work here: "
"""Prefix of the message that a keeper writes to stderr when it gives up because of /proc."""
_MOUNT = "mount -t proc proc /proc"


def proc_problem() -> str:
    """Describe what is wrong with /proc and the fix; empty if it is usable, or not used (macOS).

    Portable mode needs it on Linux, too: `ps` reads it.
    """
    if sys.platform != "linux":
        return ""
    try:
        shown = os.readlink("/proc/self")
    except OSError:
        return f"/proc is not mounted; nacre finds the processes of a command there. Mount it: `{_MOUNT}`."
    own = str(os.getpid())
    if shown == own and not _is_of_an_outer_namespace():
        return ""
    return (
        f"/proc belongs to another PID namespace: it has number {shown} for process {own}, and nacre would kill the "
        "wrong processes. Mount a fresh one: start with `unshare --mount-proc …` instead of `unshare --pid "
        f"--fork …`, or run `{_MOUNT}` there."
    )


def _is_of_an_outer_namespace() -> bool:
    """Compare NSpid: the PIDs may be equal by chance, but an outer /proc lists one for each namespace (since Linux
    4.1)."""
    try:
        fd = os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False  # no descriptor left; the comparison of PIDs has to suffice
    try:
        numbers = os.read(fd, 65536).partition(b"\nNSpid:")[2].partition(b"\n")[0].split()
    finally:
        os.close(fd)
    return len(numbers) > 1
