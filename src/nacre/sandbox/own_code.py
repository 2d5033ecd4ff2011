"""Finds nacre's own code inside a workspace: the package, the environment of the Python that runs it, and its bytecode.

This process imports modules from there while commands run, and runs them outside the sandbox; so does the next start
of Python (`.pth` files, `pyvenv.cfg`). Reads the file system, changes nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from functools import lru_cache

from nacre.base.frozen import frozen
from nacre.sandbox.workspace import is_below

_PARTS_OF_PREFIX = ("pyvenv.cfg", "bin", "lib", "lib64")
"""Parts of an environment that Python loads or executes; the rest of its directory may be the project itself."""
_MAX_LINKS = 40
"""Symbolic links that Linux follows in one path before it fails with ELOOP."""


@frozen(kw_only=True)
class OwnCode:
    """nacre's own code inside the directories that a command may write."""

    paths: tuple[str, ...] = ()
    """Real paths that must not change."""
    links: tuple[str, ...] = ()
    """Symbolic links on the way to this program's code. A mount cannot protect a link."""
    bytecode: tuple[str, ...] = ()
    """Directories of `sys.pycache_prefix` that no mount can protect: they do not exist yet, or contain the
    workspace."""


def find_own_code(roots: Iterable[str]) -> OwnCode:
    """Return nacre's own code inside `roots`, which are real paths."""
    tops = tuple(roots)
    prefixes = (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)
    places, links = _places(prefixes)
    paths = [path for place in places for path in _parts(place, tops)]
    cache = os.path.abspath(sys.pycache_prefix) if sys.pycache_prefix else ""
    bytecode: list[str] = []
    if cache:
        links = (*links, *links_on_the_way(cache))
        cached, bytecode = _split_cache(os.path.realpath(cache), places, tops)
        paths += cached
    kept = tuple(dict.fromkeys(path for path in paths if not any(_is_inside(path, other) for other in paths)))
    loose = [
        link
        for link in links
        if any(is_below(link, top) for top in tops) and not any(is_below(link, path) for path in kept)
    ]
    return OwnCode(paths=kept, links=tuple(loose), bytecode=tuple(bytecode))


@lru_cache(maxsize=8)  # this process's prefixes do not change; finding them takes longer than the rest of a plan
def _places(prefixes: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the real paths of package and prefixes, and every symbolic link on the way to them."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    while not os.path.exists(package):  # the package is in an archive
        package = os.path.dirname(package)
    user = getattr(sys.modules.get("site"), "USER_SITE", None)
    named = [package, *prefixes, *([user] if isinstance(user, str) and os.path.isdir(user) else [])]
    places = [os.path.abspath(place) for place in named if place]
    links = [link for place in dict.fromkeys(places) for link in links_on_the_way(place)]
    return tuple(dict.fromkeys(map(os.path.realpath, places))), tuple(dict.fromkeys(links))


def _parts(place: str, roots: tuple[str, ...]) -> list[str]:
    """Return the paths to protect: the whole directory, or its known parts if it is or contains the workspace."""
    if any(_is_inside(place, root) for root in roots):
        return [place]
    parts = [os.path.join(place, name) for name in _PARTS_OF_PREFIX]
    return [part for part in parts if any(_is_inside(part, root) for root in roots) and os.path.exists(part)]


def _split_cache(cache: str, places: tuple[str, ...], roots: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the bytecode directories inside the roots: those that a mount can protect, and the others.

    Python does not check who wrote a `.pyc` file: one with the right time and size is loaded instead of its module."""
    if any(_is_inside(cache, root) for root in roots):
        return ([cache], []) if os.path.isdir(cache) else ([], [cache])
    if cache == "/":
        return [], []  # bytecode is next to its source then, and protected with it
    # the cache repeats the whole path of each source file, so a workspace below it may be part of the cache
    copies = [cache + place for place in places]
    return [], [copy for copy in copies if any(is_below(copy, root) or is_below(root, copy) for root in roots)]


def _is_inside(path: str, root: str) -> bool:
    return path != root and is_below(path, root)


def links_on_the_way(path: str) -> list[str]:
    """Return the real path of every symbolic link followed to reach an absolute path, links to links included."""
    found: list[str] = []
    real, names = "/", path.split("/")[::-1]
    while names and len(found) < _MAX_LINKS:
        name = names.pop()
        if name in ("", "."):
            continue
        if name == "..":
            real = os.path.dirname(real)
            continue
        step = os.path.join(real, name)
        try:
            target = os.readlink(step)
        except OSError:  # not a link
            real = step
            continue
        found.append(step)
        names += target.split("/")[::-1]
        real = "/" if target.startswith("/") else real
    return found
