"""One virtual environment per peer, in `.venv-peers/NAME`: the packages that its adapter pins, on a recent enough
Python.

Made with uv, which is installed if it is missing (pip takes ten times as long); with pip if uv cannot be installed. An
adapter without packages runs in the current environment. Adapters are parsed, not imported: their imports are not
available here.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import nacre

ROOT = Path(__file__).parents[2]
ADAPTERS = Path(__file__).parent / "adapters"
VENVS = ROOT / ".venv-peers"
INSTALL_TIMEOUT_S = 300
"""Time limit for one installation, in seconds."""


class NotInstalled(Exception):
    """The reason why a peer could not be installed, in one line."""


@dataclass(frozen=True)
class Peer:
    name: str
    packages: tuple[str, ...]
    python: str
    """Minimum Python version."""
    timeout: str | None
    about: str
    """The adapter's docstring."""

    @property
    def version(self) -> str:
        if self.ours:
            return nacre.__version__
        return self.packages[0].partition("==")[2] if self.packages else ""

    @property
    def ours(self) -> bool:
        return self.name in ("nacre", "nacre-call")


def commit() -> str:
    """Return the short commit of this nacre, with `-dirty` if there are uncommitted changes; empty if it is unknown."""
    describe = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        done = subprocess.run(describe, cwd=ROOT, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def peers() -> dict[str, Peer]:
    """Return all adapters: nacre's, the baseline, then the others by name."""
    found = [_read(path) for path in sorted(ADAPTERS.glob("*.py")) if path.stem != "__init__"]
    found.sort(key=lambda peer: (not peer.ours, bool(peer.packages), peer.name))
    return {peer.name: peer for peer in found}


def _read(path: Path) -> Peer:
    tree = ast.parse(path.read_text())
    known = {
        target.id: ast.literal_eval(value)
        for node in tree.body
        for target, value in _assignments_in(node)
        if target.id in ("PACKAGES", "PYTHON", "TIMEOUT")
    }
    name = path.stem.replace("_", "-")
    about = ast.get_docstring(tree) or ""
    return Peer(name, tuple(known["PACKAGES"]), known["PYTHON"], known["TIMEOUT"], about)


def _assignments_in(node: ast.stmt) -> list[tuple[ast.Name, ast.expr]]:
    if isinstance(node, ast.Assign):
        return [(target, node.value) for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        return [(node.target, node.value)]
    return []


def interpreter(peer: Peer) -> str:
    """Return the path of its Python, with everything installed. Raise NotInstalled if that fails."""
    if not peer.packages:
        return sys.executable
    venv = VENVS / peer.name
    python, made = venv / "bin" / "python", venv / "made-from"
    base = _base(peer)
    made_from = "\n".join([base, *peer.packages])
    if not (made.exists() and made.read_text() == made_from):
        shutil.rmtree(venv, ignore_errors=True)
        VENVS.mkdir(exist_ok=True)
        if uv := _uv():
            _do(uv, "venv", "--quiet", "--python", base, str(venv))
            _do(uv, "pip", "install", "--quiet", "--python", str(python), *peer.packages)
        else:
            _do(base, "-m", "venv", str(venv))
            _do(str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", *peer.packages)
        made.write_text(made_from)
    return str(python)


def _base(peer: Peer) -> str:
    """Return the first Python of scripts/pythons.sh that is new enough."""
    for line in _pythons():
        version, _, path = line.partition(" ")
        if _parts(version) >= _parts(peer.python):
            return path
    raise NotInstalled(f"needs Python {peer.python}, which is not installed")


def _parts(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


@cache
def _pythons() -> list[str]:
    return subprocess.run([ROOT / "scripts/pythons.sh"], check=True, capture_output=True, text=True).stdout.splitlines()


@cache
def _uv() -> str | None:
    if known := shutil.which("uv"):
        return known
    uv = VENVS / ".uv" / "bin" / "uv"
    try:
        if not uv.exists():
            _do(sys.executable, "-m", "venv", str(VENVS / ".uv"))
            _do(str(uv.parent / "python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check", "uv")
        return str(uv)
    except NotInstalled:
        return None


def _do(*command: str) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(str(error)) from error
    if done.returncode:
        lines = [line.strip() for line in (done.stderr or done.stdout).strip().splitlines()]
        raise NotInstalled(" ".join(lines)[-300:] or f"exit {done.returncode}")
