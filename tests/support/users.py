"""Users for tests that root runs: a UID without accounts and processes, and a directory that this user may enter."""

from __future__ import annotations

import contextlib
import os
import pwd
import random
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.base.system import LINUX

_LOWEST_UID = 10_000
"""Accounts of people and of the system have lower UIDs."""
_HIGHEST_UID = 2**31 - 2
"""Some programs read a larger one as a negative number."""
_MAX_UID = 2**28
"""How many of the highest mapped UIDs are candidates: stays above the ranges of containers and dynamic users."""
_CAPABILITIES = {"dac_override": 1, "dac_read_search": 2, "sys_ptrace": 19}


def free_uid() -> int:
    """Return a UID without an account or a process that is mapped here as a GID, too. It is random, so that two test
    runs on one machine have different ones. Skip the test if there is none."""
    low, high = _mapped_range()
    used = _uids_of_processes()
    for _ in range(1000):
        uid = random.SystemRandom().randrange(low, high)
        if uid not in used and not _has_account(uid):
            return uid
    pytest.skip("every uid that is mapped here is in use")


def as_user(uid: int) -> list[str]:
    """Return the argv prefix with which root starts a program as a user to whom limits apply. That user may still read
    this Python and the project, wherever they are, and see its own hidden processes. Skip the test where that is
    impossible."""
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv, to run as another user")
    permitted = _permitted_capabilities()
    read = next((name for name in ("dac_read_search", "dac_override") if name in permitted), None)
    if read is None:
        pytest.skip("root may not let another user read this Python (CAP_DAC_READ_SEARCH)")
    if _hides_processes() and "sys_ptrace" not in permitted:
        pytest.skip("/proc hides processes (hidepid), and root may not let another user see them (CAP_SYS_PTRACE)")
    kept = [read, *({"sys_ptrace"} & permitted)]
    may = ",".join(["-all", *(f"+{name}" for name in kept)])
    capabilities = [f"--{which}={may}" for which in ("inh-caps", "ambient-caps", "bounding-set")]
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *capabilities]


@contextlib.contextmanager
def directory_of(uid: int) -> Iterator[Path]:
    """Yield a new directory of this user whose parent directories everyone may enter; remove it at the end."""
    for place in dict.fromkeys((tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm")):
        if os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK) and everybody_may_enter(Path(place)):
            break
    else:
        pytest.skip("no directory for temporary files is open to other users")
    with tempfile.TemporaryDirectory(prefix="nacre-user-", dir=place) as name:
        os.chown(name, uid, uid)
        yield Path(name)


def everybody_may_enter(place: Path) -> bool:
    resolved = place.resolve()
    return all(part.stat().st_mode & stat.S_IXOTH for part in (resolved, *resolved.parents))


def _mapped_range() -> tuple[int, int]:
    """Return bounds of the highest IDs that are mapped both as UIDs and as GIDs. Skip the test if there are none."""
    both = [
        (max(low, other_low), min(high, other_high))
        for low, high in _mapped_ranges("uid_map")
        for other_low, other_high in _mapped_ranges("gid_map")
    ]
    usable = [(max(low, _LOWEST_UID), min(high, _HIGHEST_UID)) for low, high in both]
    ranges = [(max(low, high - _MAX_UID), high) for low, high in usable if low < high]
    if not ranges:
        pytest.skip("no uid of another user is mapped here")
    return max(ranges)


def _mapped_ranges(name: str) -> list[tuple[int, int]]:
    if not LINUX:
        return [(0, 2**31)]
    lines = Path("/proc/self", name).read_text().splitlines()
    extents = [(int(start), int(length)) for start, _, length in map(str.split, lines)]
    return [(start, start + length) for start, length in extents]


def _uids_of_processes() -> set[int]:
    found = set[int]()
    for pid in filter(str.isdigit, os.listdir("/proc") if LINUX else ()):
        with contextlib.suppress(OSError):
            found.add(os.stat(f"/proc/{pid}").st_uid)
    return found


def _has_account(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _permitted_capabilities() -> set[str]:
    """Return which of `_CAPABILITIES` this process has and may pass on."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    mask = int(fields["CapPrm"], 16) & int(fields["CapBnd"], 16)
    return {name for name, number in _CAPABILITIES.items() if mask >> number & 1}


def _hides_processes() -> bool:
    """Return whether the newest mount on /proc hides other users' processes."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    options = [fields[3].split(",") for fields in mounts if fields[1] == "/proc"]
    return bool(options) and any(
        option.startswith("hidepid=") and option not in ("hidepid=0", "hidepid=off") for option in options[-1]
    )
