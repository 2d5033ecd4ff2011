"""A memory cgroup with a small limit. Needs root and a writable cgroup hierarchy."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_KINDS = (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max"))


@contextmanager
def memory_group(limit: int) -> Iterator[Path]:
    """Create the cgroup and yield the file into which a process writes its PID to join it."""
    for root, file in _KINDS:
        group = Path(root, f"nacre-test-{secrets.token_hex(4)}")
        try:
            os.mkdir(group)
        except OSError:
            continue
        try:
            if not (group / file).exists():
                continue
            (group / file).write_text(str(limit))
            yield group / "cgroup.procs"
            return
        finally:
            os.rmdir(group)
    pytest.skip("needs a cgroup that limits memory")
