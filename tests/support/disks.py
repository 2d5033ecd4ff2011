"""A small tmpfs for one test. Needs root."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(place: Path, size: str, *options: str) -> Iterator[Path]:
    """Mount a tmpfs of this size at `place` inside the block. Skip the test if that fails."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a tmpfs")
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", ",".join((f"size={size}", "mode=0700", *options)), "none", str(place)]
    mounted = subprocess.run(mount, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"a tmpfs cannot be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)
