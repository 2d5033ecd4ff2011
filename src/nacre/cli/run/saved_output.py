"""Where a view keeps what it does not show, so that it can be read. Tidied whenever something is added."""

from __future__ import annotations

import contextlib
import os
import stat
import time

from nacre.base.system import state_directory

_KEEP_SECONDS = 7 * 24 * 3600.0
_MAX_FILES = 200
_MAX_TOTAL_BYTES = 1 << 30


def directory(wanted: str | None = None) -> str:
    """Where such files go; it may not exist yet. Absolute: whoever reads its name may be elsewhere by then."""
    return os.path.join(state_directory(), "outputs") if wanted is None else os.path.abspath(wanted)


def prune() -> None:
    """What is a week old goes, and the oldest of too many or too much."""
    found = []
    with contextlib.suppress(OSError), os.scandir(directory()) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if entry.name.startswith("bash-") and stat.S_ISREG(status.st_mode):
                    found.append((status.st_mtime, status.st_blocks * 512, entry.path))
    found.sort(reverse=True)
    total, now = 0, time.time()
    for count, (changed, size, path) in enumerate(found):
        total += size
        if count >= _MAX_FILES or total > _MAX_TOTAL_BYTES or now - changed > _KEEP_SECONDS:
            with contextlib.suppress(OSError):
                os.unlink(path)
