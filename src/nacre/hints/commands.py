"""Hints for "command not found": the nearest name on the command's PATH, or a place outside it that has the program."""

from __future__ import annotations

import os

from nacre.base.lazy_regex import lazy_regex
from nacre.hints.failure import Complaint, CpuBudget, Failure, names_in, nearest, quote_text

_NOT_FOUND = lazy_regex(
    r"(?:^|: )(?P<a>[^\s:'\"/][^\s:'\"]{0,79}): (?:command )?not found(?:$|[. ])"
    r"|make(?:\[\d+\])?: (?P<b>[^\s:]{1,80}): (?:Command not found|No such file or directory)"
    r"|(?:^|/)(?:env|xargs|nohup|timeout|time|nice|sudo|stdbuf|setsid|doas): (?:failed to run command |cannot run )?"
    r"['\u2018](?P<c>[^'\u2019/]{1,80})['\u2019]: No such file or directory"
    r"|^xargs: (?P<d>[^\s:/]{1,80}): No such file or directory"
)
_OTHER_NAMES = {
    "python": ("python3",),
    "python2": ("python3",),
    "py": ("python3",),
    "pip": ("pip3",),
    "node": ("nodejs",),
    "nodejs": ("node",),
    "fd": ("fdfind",),
    "fdfind": ("fd",),
    "bat": ("batcat",),
    "rg": ("grep",),
    "ag": ("rg", "grep"),
    "vim": ("vi",),
    "nc": ("ncat", "netcat"),
    "netcat": ("nc", "ncat"),
    "ifconfig": ("ip",),
    "netstat": ("ss",),
    "docker": ("podman",),
    "make": ("gmake",),
    "gmake": ("make",),
    "gsed": ("sed",),
    "ggrep": ("grep",),
    "gawk": ("awk",),
    "md5": ("md5sum",),
    "shasum": ("sha1sum",),
    "open": ("xdg-open",),
    "wget": ("curl",),
    "curl": ("wget",),
    "nslookup": ("dig", "host", "getent"),
    "dig": ("host", "getent"),
    "killall": ("pkill",),
    "yum": ("dnf", "apt-get"),
    "cc": ("gcc", "clang"),
}
_ELSEWHERE = ("~/.local/bin", "~/.cargo/bin", "~/go/bin", "/usr/local/go/bin", "/usr/local/bin", "/usr/sbin", "/sbin")
_IN_PROJECTS = (".venv/bin", "venv/bin", "node_modules/.bin", "bin", "scripts", "")


def not_found(complaint: Complaint, failure: Failure) -> str | None:
    match = None if failure.paths_hidden else _NOT_FOUND.search(complaint.line)
    if match is None:
        return None
    name = next(filter(None, match.groups()))
    if name.strip("\r") != name:
        return "The name ends in a carriage return: the script has Windows line endings."
    path = [each for each in failure.env.get("PATH", "").split(os.pathsep) if each]
    if not path or any(_runs(os.path.join(each, name)) for each in path):
        return None
    home = failure.env.get("HOME", "")
    for place in (*failure.directories, failure.cwd):
        for inner in _IN_PROJECTS:
            if _runs(os.path.join(place, inner, name)):
                there = quote_text(os.path.join(".", inner, name))
                return f"{quote_text(name)} is not on PATH, but {there} exists."
    for other in _ELSEWHERE:
        found = os.path.join(other.replace("~", home, 1), name)
        if _runs(found):
            return f"{quote_text(name)} is not on PATH, but {quote_text(found)} exists."
    if known := [each for each in _OTHER_NAMES.get(name, ()) if any(_runs(os.path.join(d, each)) for d in path)]:
        return f"{quote_text(name)} is not on PATH; {quote_text(known[0])} is installed."
    return _near(name, path)


def _near(name: str, path: list[str]) -> str | None:
    clock = CpuBudget()
    names: dict[str, str] = {}
    for directory in dict.fromkeys(path):
        if clock.expired:
            break
        for each in names_in(directory):
            names.setdefault(each, directory)
    near = [each for each in nearest(name, [*names, *_BUILTINS]) if each in _BUILTINS or _runs(f"{names[each]}/{each}")]
    if not near or len(near) > 4:
        return None
    return f"{quote_text(name)} is not on PATH; did you mean {' or '.join(quote_text(each) for each in near[:2])}?"


_BUILTINS = ("cd", "echo", "export", "source", "alias", "printf", "pushd", "popd", "unset", "ulimit", "umask")


def _runs(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


PROVIDERS = (not_found,)
