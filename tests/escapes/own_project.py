"""Projects with nacre in their environment."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import nacre

SITE = f".venv/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
BASE = os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def make_environment(place: Path) -> Path:
    """Make an environment like `python -m venv --without-pip`, with nacre installed."""
    environment = place / ".venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(BASE)
    (environment / "pyvenv.cfg").write_text(f"home = {os.path.dirname(BASE)}\ninclude-system-site-packages = false\n")
    package = os.path.dirname(nacre.__file__)
    shutil.copytree(package, place / SITE / "nacre", ignore=shutil.ignore_patterns("__pycache__"))
    return place
