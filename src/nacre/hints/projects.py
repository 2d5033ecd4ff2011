"""Hints for missing Python modules, virtual environments, repositories, branches, make targets and npm scripts."""

from __future__ import annotations

import contextlib
import os
import stat
from glob import escape, glob

from nacre.base.lazy_regex import lazy_regex
from nacre.hints.failure import Complaint, Failure, is_name, names_in, nearest, quote_text

_NO_MODULE = lazy_regex(r"No module named '?([A-Za-z_]\w{0,60})(?!\w)")
_MANAGED = lazy_regex(r"externally-managed-environment")
_NO_REPOSITORY = lazy_regex(r"(?i)not a git repository")
_NO_TARGET = lazy_regex(r"No rule to make target [`'](\S{1,80})'\.? +Stop")
_TARGETS = lazy_regex(r"(?m)^([\w./-]{1,80})\s*:(?![=:])")
_NO_SCRIPT = lazy_regex(r"(?i)missing script: \"?([\w:.-]{1,80})(?![\w:.-])")
_SCRIPT = lazy_regex(r"[\w:.-]{1,40}")
_NO_BRANCH = lazy_regex(r"pathspec '([^'\s]{1,100})' did not match")
_PACKED = lazy_regex(r"(?m)^[0-9a-f]{40,64} refs/heads/(\S{1,200})$")
_MAX_FILE_BYTES = 256 * 1024
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
    """Return the path of the nearest virtual environment, and that path as seen from the command's directory."""
    for place in failure.directories:
        for _ in range(3):
            for name in _VENVS:
                path = os.path.join(place, name)
                if os.path.isfile(os.path.join(path, "bin", "python")):
                    shown = os.path.relpath(path, failure.cwd)
                    return path, shown if shown.count("..") < 3 else path
            place = os.path.dirname(place)
    return "", ""


def module(complaint: Complaint, failure: Failure) -> str | None:
    match = None if failure.paths_hidden else _NO_MODULE.search(complaint.line)
    if match is None:
        return None
    name = match[1]
    venv, shown = _venv(failure)
    python = quote_text(os.path.join(shown, "bin", "python"))
    used = bool(venv) and shown in failure.command
    if venv and not used and _holds(venv, name):
        return f"{quote_text(name)} is installed in {quote_text(shown)}: run {python}."
    for place in failure.directories:
        for inner in ("src", "lib"):
            path = os.path.join(place, inner, name)
            if os.path.isdir(path) or os.path.isfile(f"{path}.py"):
                return f"{quote_text(name)} is in {quote_text(inner)}: set PYTHONPATH={inner}, or `pip install -e .`."
    if name in _PACKAGES:
        return f"The module {quote_text(name)} is in the package {quote_text(_PACKAGES[name])}."
    return (
        f"There is a virtual environment in {quote_text(shown)}: its Python is {python}." if venv and not used else None
    )


def _holds(venv: str, name: str) -> bool:
    place = os.path.join(escape(venv), "lib", "python3*", "site-packages")
    return bool(glob(os.path.join(place, name)) or glob(os.path.join(place, f"{name}.py")))


def externally_managed(complaint: Complaint, failure: Failure) -> str | None:
    if not _MANAGED.search(complaint.line):
        return None
    venv, shown = ("", "") if failure.paths_hidden else _venv(failure)
    if not venv:
        return "The system Python is externally managed: use `python3 -m venv .venv`, then `.venv/bin/pip install …`."
    python = os.path.join(shown, "bin", "python")
    return f"The system Python is externally managed; use {quote_text(shown)}: `{python} -m pip install …`."


def repository(complaint: Complaint, failure: Failure) -> str | None:
    if failure.paths_hidden or not _NO_REPOSITORY.search(complaint.line):
        return None
    for place in failure.directories:
        found = [name for name in names_in(place, 500) if os.path.exists(os.path.join(place, name, ".git"))]
        if found:
            names = " and ".join(quote_text(name) for name in sorted(found)[:3])
            return f"{quote_text(place)} is not in a repository; {names} {'is one' if len(found) == 1 else 'are some'}."
    return None


def target(complaint: Complaint, failure: Failure) -> str | None:
    match = None if failure.paths_hidden else _NO_TARGET.search(complaint.line)
    if match is None:
        return None
    for place in failure.directories:
        for name in ("GNUmakefile", "makefile", "Makefile"):
            text = _text(os.path.join(place, name))
            if near := nearest(match[1], [each[1] for each in _TARGETS.finditer(text)]):
                return f"There is no target {quote_text(match[1])}; did you mean {quote_text(near[0])}?"
    return None


def script(complaint: Complaint, failure: Failure) -> str | None:
    match = None if failure.paths_hidden else _NO_SCRIPT.search(complaint.line)
    if match is None:
        return None
    import json

    for place in failure.directories:
        with contextlib.suppress(ValueError, AttributeError):
            known = json.loads(_text(os.path.join(place, "package.json"))).get("scripts", {})
            names = [name for name in known if _SCRIPT.fullmatch(name)]
            near = nearest(match[1], names)
            if near or names:
                shown = ", ".join(quote_text(name) for name in (near or names)[:6])
                return f"There is no script {quote_text(match[1])}; there is {shown}."
    return None


def branch(complaint: Complaint, failure: Failure) -> str | None:
    match = None if failure.paths_hidden else _NO_BRANCH.search(complaint.line)
    if match is None:
        return None
    for place in failure.directories:
        while not os.path.isdir(git := os.path.join(place, ".git")) and place != "/":
            place = os.path.dirname(place)
        heads = os.path.join(git, "refs", "heads")
        names = [os.path.relpath(os.path.join(where, name), heads) for where, _, all in os.walk(heads) for name in all]
        names += [each[1] for each in _PACKED.finditer(_text(os.path.join(git, "packed-refs")))]
        if near := nearest(match[1], list(dict.fromkeys(name for name in names[:5000] if is_name(name)))):
            return f"There is no branch {quote_text(match[1])}; did you mean {quote_text(near[0])}?"
    return None


def _text(path: str) -> str:
    """Return the beginning of a file; empty if there is none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(fd, _MAX_FILE_BYTES).decode("utf-8", "replace") if stat.S_ISREG(os.fstat(fd).st_mode) else ""
    finally:
        os.close(fd)


PROVIDERS = (externally_managed, module, repository, target, script, branch)
