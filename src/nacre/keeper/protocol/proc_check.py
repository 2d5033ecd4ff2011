"""Whether /proc shows the processes that this process can see. Everything that is ended is found there.

`unshare --pid --fork` without `--mount-proc` leaves the outer /proc in place: its numbers belong to other processes
than those that `kill` reaches, and kernel threads look like children. Loaded by host and keeper: a host can make its
children live in another PID namespace than its own.
"""

from __future__ import annotations

import os
import sys

PROC_UNUSABLE = "nacre cannot work here: "
"""A keeper that has to give up writes this, and why, as its last words."""
_MOUNT = "mount -t proc proc /proc"


def proc_problem() -> str:
    """What is wrong with /proc, and what to do about it; empty where it is right, or is not used (macOS).

    Portable mode needs it on Linux, too: `ps` reads it.
    """
    if sys.platform != "linux":
        return ""
    try:
        shown = os.readlink("/proc/self")
    except OSError:
        return f"There is no /proc, in which nacre finds the processes of a command. Mount it: `{_MOUNT}`."
    own = str(os.getpid())
    if shown == own and not _is_of_an_outer_namespace():
        return ""
    return (
        f"/proc belongs to another PID namespace: it has number {shown} for process {own}, and nacre would end other "
        "processes than its own. Mount a fresh one: start with `unshare --mount-proc …` instead of `unshare --pid "
        f"--fork …`, or run `{_MOUNT}` there."
    )


def _is_of_an_outer_namespace() -> bool:
    """The numbers may be equal by chance; an outer /proc lists one for each namespace (Linux 4.1)."""
    try:
        fd = os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False  # no descriptor left; the comparison has to do
    try:
        numbers = os.read(fd, 65536).partition(b"\nNSpid:")[2].partition(b"\n")[0].split()
    finally:
        os.close(fd)
    return len(numbers) > 1
