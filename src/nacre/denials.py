"""What a confined command was denied: its output and its plan in, sentences for the model out.

Programs say that something was denied, never by whom. A path they name is tested against the plan and against what
this user might do unconfined; only where there is no path to test is a denial called likely.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

from nacre.result import Captured, Exited, Outcome, Signalled
from nacre.sandbox.plan import DEVICES, Wanted, network_rules
from nacre.sandbox.workspace import is_below
from nacre.types import Network, Plan

_DENIED = re.compile(
    r"Permission denied|Operation not permitted|Read-only file system|Device or resource busy|EACCES|EPERM|EROFS|EBUSY"
)
_NETWORK = re.compile(
    r"(?i)could(?: not|n't) (?:resolve|connect)|name resolution|getaddrinfo|/dev/(?:tcp|udp)/|\bsocket\b|\bconnect|"
    r"unable to access 'https?:|network is unreachable|failed to fetch|ping:"
)
_QUOTED = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"|\u2018([^\u2019\n]+)\u2019|`([^`'\n]+)[`']")
_ABSOLUTE = re.compile(r"(?:^|[\s:=(])(/[^\s:'\",;)]+)")
_KILL = re.compile(r"kill: \((\d+)\)")
_LINES = 200
"""The last ones are looked at."""
_MOST = 3
_SIGSYS = 31
_THIRD = 3
_REMEMBERED = 1000


class Denial(NamedTuple):
    rule: str
    """As in `Result.enforced`."""
    deed: str
    likely: bool = False


_INSTEAD = {
    "writes": "write below $TMPDIR, or say where you need to write.",
    "network": "work with what is here, or say what you need from where.",
}


def denials(plan: Plan, outcome: Outcome, output: Captured, conversation: str) -> list[str]:
    """At most a few, each once."""
    wanted = plan.wanted
    if wanted is None:
        return []
    found: dict[Denial, None] = {}
    for line in output.text.splitlines()[-_LINES:]:
        for denial in _in_line(line, wanted, plan.cwd):
            if denial.rule in plan.enforced:
                found[denial] = None
                break
    if outcome in (Signalled(_SIGSYS), Exited(128 + _SIGSYS)):
        found[Denial("kernel", "a system call that no confined command may make", likely=True)] = None
    return [_said(denial, wanted, conversation) for denial in sorted(found, key=lambda each: each.likely)[:_MOST]]


def _said(denial: Denial, wanted: Wanted, conversation: str) -> str:
    return (
        f"{'Likely blocked' if denial.likely else 'Blocked'} by access={wanted.access!r} ({denial.rule}): "
        f"{denial.deed}. {_again(conversation, denial.deed)}Retrying or working around it is pointless: "
        + _INSTEAD.get(denial.rule, "say what you need and why.")
    )


def _in_line(line: str, wanted: Wanted, cwd: str) -> Iterator[Denial]:
    """What one line of output may be about."""
    if _DENIED.search(line):
        if match := _KILL.search(line):
            yield Denial("signals", f"signalling process {match[1]}, which is not of this command")
        for path in _paths(line, cwd):
            if (denial := _about(path, wanted)) is not None:
                yield denial
    if wanted.network is not True and _NETWORK.search(line):
        for rule in network_rules(wanted.network):
            yield Denial(rule, f"the network ({_network(wanted.network)})", likely=True)


def _paths(line: str, cwd: str) -> Iterator[str]:
    """Words in quotes and absolute paths; where there are none, what stands before the complaint, after the name of
    who complains. Each only if there could be such a file."""
    words = [next(filter(None, match.groups())) for match in _QUOTED.finditer(line)]
    words += _ABSOLUTE.findall(line)
    if not words and not _NETWORK.search(line):
        before = _DENIED.split(line)[0].rstrip(": ").split(": ")
        words = before[1:][-1:]
    for word in dict.fromkeys(words):
        path = os.path.normpath(os.path.join(cwd, word))
        if "\0" not in path and len(path) < 4096 and os.path.isdir(os.path.dirname(path)):
            yield path


def _about(path: str, wanted: Wanted) -> Denial | None:
    """What the plan has to say about a path; nothing if this user could not have done it anyway."""
    real = os.path.realpath(path)
    if any(is_below(real, hidden) for hidden in wanted.hidden):
        return Denial("hidden", f"reading {path}")
    workspace = wanted.workspace
    if workspace is not None:
        if any(is_below(real, each) or is_below(path, each) for each in workspace.protected):
            return Denial("writes", f"changing {path}, which is protected")
        if any(is_below(real, root) for root in workspace.roots):
            return None
    if real in DEVICES or not _could_write(path):
        return None
    deed = "changing" if os.path.lexists(path) else "writing"
    return Denial("writes", f"{deed} {path}" + ("" if workspace is None else ", which is outside the workspace"))


def _could_write(path: str) -> bool:
    """As this user, without root's powers: the file, or its directory where there is none yet (or it was to go)."""
    for each in (path, os.path.dirname(path)):
        try:
            status = os.stat(each)
        except OSError:
            continue
        mode = status.st_mode
        if status.st_uid == os.geteuid():
            allowed = mode & stat.S_IWUSR
        elif status.st_gid == os.getegid() or status.st_gid in os.getgroups():
            allowed = mode & stat.S_IWGRP
        else:
            allowed = mode & stat.S_IWOTH
        if allowed:
            return True
    return False


def _network(network: Network) -> str:
    if isinstance(network, tuple):
        return f"only TCP to port {' or '.join(map(str, network))} is open"
    return "only a loopback of its own is open" if network == "loopback" else "there is none"


_counts: OrderedDict[tuple[str, str], int] = OrderedDict()
_lock = threading.Lock()


def _again(conversation: str, deed: str) -> str:
    """How often this conversation has run into it."""
    with _lock:
        key = conversation, deed
        _counts[key] = count = _counts.pop(key, 0) + 1
        while len(_counts) > _REMEMBERED:
            _counts.popitem(last=False)
    return f"This is attempt {count} at the same thing. " if count >= _THIRD else ""
