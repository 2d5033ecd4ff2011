"""Mounts for one test, in a private mount namespace, which vanishes with its last process."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from tests.support.waiting import HANG_TIMEOUT_S


def in_own_mounts(script: str, *arguments: object) -> list[str]:
    """Return an argv prefix that runs `script` in a private mount namespace first; `arguments` are its "$1" and so on.
    Skip the test if that does not work here."""
    if shutil.which("unshare") is None or shutil.which("mount") is None:
        pytest.skip("needs unshare and mount")
    words = [str(argument) for argument in arguments]
    text = f'set -e; {script}; shift {len(words)}; exec "$@"'
    own = ["--mount", "--propagation", "private", *(["--map-root-user"] if os.geteuid() else [])]
    through = ["unshare", *own, "sh", "-c", text, "sh", *words]
    tried = subprocess.run([*through, "true"], capture_output=True, text=True, timeout=HANG_TIMEOUT_S, check=False)
    if tried.returncode:
        pytest.skip(f"mounting is not allowed here: {tried.stderr.strip()}")
    return through
