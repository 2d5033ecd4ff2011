"""Python's modules and environments, and repositories: where what was missed is."""

from __future__ import annotations

import os
from glob import escape, glob

from nacre.hints.failure import Complaint, Failure, names_in, quoted
from nacre.patterns import later

_NO_MODULE = later(r"No module named '?([A-Za-z_]\w{0,60})")
_MANAGED = later(r"externally-managed-environment")
_NO_REPOSITORY = later(r"(?i)not a git repository")
_PACKAGES = {
    "yaml": "PyYAML",
    "cv2": "opencv-python",
    "PIL": "Pillow",
    "sklearn": "scikit-learn",
    "bs4": "beautifulsoup4",
    "dotenv": "python-dotenv",
    "dateutil": "python-dateutil",
    "Crypto": "pycryptodome",
    "jwt": "PyJWT",
    "git": "GitPython",
    "attr": "attrs",
    "serial": "pyserial",
    "usb": "pyusb",
    "docx": "python-docx",
    "pkg_resources": "setuptools",
    "distutils": "setuptools",
}
_VENVS = (".venv", "venv", "env")


def _venv(failure: Failure) -> tuple[str, str]:
    """Where it is, and as it is called from the command's directory."""
    for place in failure.places:
        for _ in range(3):
            for name in _VENVS:
                path = os.path.join(place, name)
                if os.path.isfile(os.path.join(path, "bin", "python")):
                    shown = os.path.relpath(path, failure.cwd)
                    return path, shown if shown.count("..") < 3 else path
            place = os.path.dirname(place)
    return "", ""


def module(complaint: Complaint, failure: Failure) -> str | None:
    match = None if failure.blind else _NO_MODULE.search(complaint.line)
    if match is None:
        return None
    name = match[1]
    venv, shown = _venv(failure)
    python = quoted(os.path.join(shown, "bin", "python"))
    used = bool(venv) and shown in failure.command
    if venv and not used and _holds(venv, name):
        return f"{quoted(name)} is installed in {quoted(shown)}: run {python}."
    for place in failure.places:
        for inner in ("src", "lib"):
            path = os.path.join(place, inner, name)
            if os.path.isdir(path) or os.path.isfile(f"{path}.py"):
                return f"{quoted(name)} is in {quoted(inner)}: set PYTHONPATH={inner}, or `pip install -e .`."
    if name in _PACKAGES:
        return f"The module {quoted(name)} is in the package {quoted(_PACKAGES[name])}."
    return f"There is an environment in {quoted(shown)}: its python is {python}." if venv and not used else None


def _holds(venv: str, name: str) -> bool:
    place = os.path.join(escape(venv), "lib", "python3*", "site-packages")
    return bool(glob(os.path.join(place, name)) or glob(os.path.join(place, f"{name}.py")))


def managed(complaint: Complaint, failure: Failure) -> str | None:
    if not _MANAGED.search(complaint.line):
        return None
    venv, shown = ("", "") if failure.blind else _venv(failure)
    if not venv:
        return "The system's Python may not be changed: `python3 -m venv .venv`, then `.venv/bin/pip install …`."
    python = os.path.join(shown, "bin", "python")
    return f"The system's Python may not be changed, but there is {quoted(shown)}: `{python} -m pip install …`."


def repository(complaint: Complaint, failure: Failure) -> str | None:
    if failure.blind or not _NO_REPOSITORY.search(complaint.line):
        return None
    for place in failure.places:
        found = [name for name in names_in(place, 500) if os.path.exists(os.path.join(place, name, ".git"))]
        if found:
            names = " and ".join(quoted(name) for name in sorted(found)[:3])
            return f"{quoted(place)} is in no repository; {names} {'is one' if len(found) == 1 else 'are some'}."
    return None


LOOKS = (managed, module, repository)
