"""The directory for output that a view does not show. Pruned whenever a file is added."""

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
    """Return the absolute path of the directory: `wanted` or the default. It may not exist yet. Absolute, because a
    reader of the path may have another working directory."""
    return os.path.join(state_directory(), "outputs") if wanted is None else os.path.abspath(wanted)


def prune() -> None:
    """Remove files older than a week, and the oldest files beyond the limits on number and size."""
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
