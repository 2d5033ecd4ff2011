"""Which places may not be deleted, or changed with all that is in them: the root, homes, system directories, this one.

A target is text as far as it is known. One that holds something unknown counts as what it becomes when that is empty:
`"$X"/*` is everything, `"$X"` is nothing.
"""

from __future__ import annotations

import re

from nacre.policy.rule import Around
from nacre.shell.command import Command
from nacre.shell.state import absolute
from nacre.shell.text import BRACKET, QUESTION, SOME, STAR, least

SYSTEM = frozenset(
    [
        "bin",
        "boot",
        "dev",
        "etc",
        "home",
        "lib",
        "lib32",
        "lib64",
        "libx32",
        "media",
        "mnt",
        "opt",
        "proc",
        "root",
        "run",
        "sbin",
        "srv",
        "sys",
        "usr",
        "var",
        "tmp",
        "Applications",
        "Library",
        "System",
        "Users",
        "Volumes",
        "private",
        "cores",
    ]
)
_BELOW = frozenset(
    [
        "usr/bin",
        "usr/sbin",
        "usr/lib",
        "usr/lib64",
        "usr/local",
        "usr/share",
        "usr/include",
        "var/lib",
        "var/log",
        "var/cache",
    ]
)
_ALL_OF_IT = re.compile(
    rf"(?:{STAR}+|\.{STAR}|{QUESTION}{STAR}|\.{BRACKET}[!^]\.\]{STAR}|\.{QUESTION}{STAR}|{STAR}\.{STAR})$"
)


def precious(target: str, command: Command, around: Around) -> str | None:
    """What would be lost if this target went with all that is in it; None if that is its owner's business."""
    if not target:
        return None
    text = least(target)
    if not text or (text != target and text == "."):
        return None
    last = text.rstrip("/").rsplit("/", 1)[-1]
    everything = bool(_ALL_OF_IT.match(last))
    place = text.rstrip("/")[: -len(last)] if everything else text
    place = place or ("/" if text.startswith("/") else ".")
    if everything and place in (".", "./"):
        return "everything in the working directory"
    path = absolute(place, command.cwd)
    if last == ".git" or path.endswith("/.git"):
        return "the repository with its whole history"
    return _system(path, everything, around, command) or _around(path, text, around, command)


def _system(path: str, everything: bool, around: Around, command: Command) -> str | None:
    if path == "/":
        return "the whole file system"
    name = path[1:]
    if name in SYSTEM:
        return None if name == "tmp" and everything else f"the system directory {path}"
    if name in _BELOW and not (everything and name in ("var/cache", "var/log")):
        return f"the system directory {path}"
    if path in (around.home, command.home) or re.fullmatch(r"/(?:home|Users)/[^/]+", path):
        return None if path.endswith("/" + SOME) else f"the home directory {path}"
    if re.fullmatch(rf"/(?:{STAR}|{QUESTION}|[a-z]?{STAR})+", path):
        return "the whole file system"
    return None


def _around(path: str, text: str, around: Around, command: Command) -> str | None:
    for cwd in (command.cwd, around.cwd):
        if cwd and (cwd == path or cwd.startswith(path.rstrip("/") + "/")):
            return "the working directory" if path == cwd else f"{path}, which holds the working directory"
    if re.fullmatch(r"(?:\./)*(?:\.\./?)+|(?:\./?)+", text):
        return "the working directory" if ".." not in text else "what holds the working directory"
    if path in around.mounts:
        return f"all that is mounted at {path}"
    return None
