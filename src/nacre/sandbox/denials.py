"""Explain to the model which access rule blocked a sandboxed command, judged by its output and its plan.

Programs report that something was denied, never by which mechanism. Each path that they name is tested against the
plan and against this user's own permissions. If the access was only possibly a write, or the path only possibly the
right one, the denial is marked likely. Anything that may as well be a missing file permission is not reported. The
output is untrusted text: of it, only paths reach the result, each whole, quoted and escaped.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import threading
from collections import OrderedDict
from collections.abc import Iterator
from itertools import islice
from typing import Literal, NamedTuple

from nacre.result import Captured, Exited, Outcome, Signalled
from nacre.sandbox.protected_names import OWN_CODE
from nacre.sandbox.resolve import DEVICES, SandboxRequest, network_rules
from nacre.sandbox.workspace import is_below
from nacre.types import Network, Plan

_DENIED = re.compile(
    r"(?i:Permission denied|Operation not permitted|Read-only file system|Device or resource busy)|"
    r"\b(?:EACCES|EPERM|EROFS|EBUSY)\b"
)
_CLOSED = re.compile(r"(?i:Read-only file system|Device or resource busy)|\b(?:EROFS|EBUSY)\b")
"""Errors of a protected path, which is a separate mount."""
_PERM = re.compile(r"(?i:Operation not permitted)|\bEPERM\b")
"""Error of the seccomp filter that denies changes of mode, owner and times. Landlock answers EACCES."""
_BUSY = re.compile(r"(?i:Device or resource busy)|\bEBUSY\b")
_NETWORK = re.compile(
    r"(?i)could(?: not|n't) (?:resolve|connect)|name resolution|getaddrinfo|/dev/(?:tcp|udp)/|socket\.py\", line|"
    r"unable to access 'https?:|network is unreachable|failed to fetch|ping:"
)
_SOCKETS = re.compile(r"(?i)\bsocket\b|\bconnect")
_FAILURE = re.compile(r"(?i)denied|not permitted|fail|refused|unable|cannot|can't|could(?: not|n't)|error")
_METADATA = re.compile(
    r"(?i)(?:setting|preserving) (?:times|permissions|ownership)|changing (?:permissions|ownership|group)|"
    r"cannot (?:utime|change (?:mode|ownership))|\b(?:chmod|l?f?chown|utimensat|utimes?|setxattr)\b"
)
_OWNERS = re.compile(r"(?i)ownership|changing group|chown")
_MODES = re.compile(r"(?i)permissions|change mode|chmod")
_WRITE = re.compile(
    r"(?i)\b(?:creat|writ|remov|delet|mov|renam|mk|mak|link|unlink|touch|truncat|sav|output|temporary|append|modif|"
    r"overwrit|cop[yi])"
)
_READ = re.compile(r"(?i)\bread(?:ing)?\b(?!-)|open(?:ing)? directory|cannot (?:access|stat|execute|run)|run command")
_RUN = re.compile(r"_execute_child|\bexecv|\bspawn|\bexec\b|cannot execute")
_RUNNERS = re.compile(
    r"^(?:/\S*/)?(?:(?:ba|da|z|k)?sh|env|xargs|make|find|nohup|time|timeout|nice): |^\S+: (?:line )?\d+: "
)
"""Programs that start others, and report a file without execute permission with the message of one that is not
writable."""
_MOVES = re.compile(r"\b(?:cd|pushd|popd|chdir)\b|\s(?:-C|--directory)")
_QUOTED = re.compile(
    r"'([^'\n]{1,4096})'|\"([^\"\n]{1,4096})\"|\u2018([^\u2018\u2019\n]{1,4096})\u2019|`([^`'\n]{1,4096})[`']"
)
_ABSOLUTE = re.compile(r"(?:^|[\s:=(])(/[^\s:'\",;)]+)")
_KILL = re.compile(r"kill: \((\d{1,20})\)")
_LINES = 200
"""Number of output lines that are searched, counted from the end."""
_MAX_LINE_CHARS = 10_000
"""A kernel path has at most 4096 bytes, and some messages name two. The rest of a longer line is ignored."""
_MAX_LINES_CHARS = 400_000
"""Limit over all lines: a program may print any amount, and the work done on it must be bounded."""
_MAX_COMPLAINTS = 50
_MAX_COMPLAINTS_CHARS = 100_000
_MAX_WORDS = 8
_MAX_DENIALS = 3
_PATH_MAX, _NAME_MAX = 4096, 255
"""Kernel limits in bytes on a path and on one name in it. A string of n characters has at least n bytes."""
_MAX_PATH_CHARS = 4200
"""Enough for any kernel path in quotes, unless most of its characters are escaped."""
_PATH_END_CHARS = 2000
"""Characters kept from the end of a longer path: the end says most."""
_MAX_LISTED_PORTS = 5
_SEARCHED_COMMAND_CHARS = 100_000
"""Characters of the command that are searched for a path."""
_SIGSYS = 31
_REPEAT_NOTE_COUNT = 3
_MAX_CONVERSATIONS = 1000


class Denial(NamedTuple):
    """An action that a sandbox rule has denied, or has likely denied."""

    rule: str
    """Name of the rule, as in `Result.enforced`."""
    action: str
    likely: bool = False


class _PathCandidate(NamedTuple):
    """Part of a line that may be a path. `marked`: in quotes or absolute. `bare`: all the text before the complaint.
    `guess`: the last word of that text."""

    text: str
    kind: Literal["marked", "bare", "guess"] = "marked"


class _Context(NamedTuple):
    plan: Plan
    wanted: SandboxRequest
    text: str
    """The command."""
    runs: bool
    """The output contains a complaint that a program could not be started."""


_NEEDS = "say what you need and why."
_INSTEAD = {
    "network": "work offline, or say what you need and from where.",
    "metadata": "run a script as `bash FILE`, make a file with `>`, use `cp` without -p, `tar` with -m.",
}


def denials(plan: Plan, outcome: Outcome, output: Captured, conversation: str) -> list[str]:
    """Return sentences about what the sandbox denied to a command: at most three, each once. Empty for a command that
    exited with 0, whatever it printed."""
    wanted = plan.sandbox_request
    if wanted is None or outcome == Exited(0):
        return []
    found: dict[Denial, None] = {}
    lines = _last_lines(output.text.splitlines(), _LINES, _MAX_LINES_CHARS)
    complaints = [line for line in lines if _DENIED.search(line) or _is_network(line)]
    text = plan.text[:_SEARCHED_COMMAND_CHARS].decode("utf-8", "replace")
    scene = _Context(plan, wanted, text, runs=any(_RUN.search(line) for line in lines))
    for line in _last_lines(complaints, _MAX_COMPLAINTS, _MAX_COMPLAINTS_CHARS):
        with contextlib.suppress(OSError):  # a path that we may not even stat
            for denial in _in_line(line, scene):
                if denial.rule in plan.enforced:
                    found[denial] = None
                    break
    if outcome in (Signalled(_SIGSYS), Exited(128 + _SIGSYS)):
        found[Denial("kernel", "a system call that sandboxed commands may not make", likely=True)] = None
    said = sorted(found, key=lambda each: each.likely)[:_MAX_DENIALS]
    return [_describe_denial(denial, wanted, conversation, scratch=plan.private_tmpdir) for denial in said]


def _last_lines(lines: list[str], max_lines: int, max_chars: int) -> list[str]:
    """Return the last lines that fit both limits, each cut to `_MAX_LINE_CHARS`."""
    kept: list[str] = []
    for line in reversed(lines[-max_lines:]):
        kept.append(line[: min(_MAX_LINE_CHARS, max_chars)])
        max_chars -= len(kept[-1])
        if max_chars <= 0:
            break
    return kept[::-1]


def _describe_denial(denial: Denial, wanted: SandboxRequest, conversation: str, *, scratch: bool) -> str:
    rule = denial.rule if denial.rule.count(",") < _MAX_LISTED_PORTS else denial.rule.partition(":")[0]
    instead = _INSTEAD.get(denial.rule, _NEEDS)
    if denial.rule == "metadata" and not (scratch and wanted.workspace is None):
        instead = _NEEDS
    if denial.rule == "writes":
        instead = ("write below $TMPDIR, or " if scratch else "") + "say where you need to write."
    return (
        f"{'Likely blocked' if denial.likely else 'Blocked'} by access={wanted.access!r} ({rule}): "
        f"{denial.action}. {_repeat_note(conversation, denial.action)}Retrying or working around it is "
        f"pointless: {instead}"
    )


def _is_network(line: str) -> bool:
    return bool(_NETWORK.search(line) or (_SOCKETS.search(line) and _FAILURE.search(line)))


def _in_line(line: str, scene: _Context) -> Iterator[Denial]:
    """Yield the denials that one line of output may report."""
    if _DENIED.search(line):
        if match := _KILL.search(line):
            yield Denial("signals", f"signalling process {match[1]}, which does not belong to this command")
        named = [(word, path) for word in _words(line) if (path := _path(word.text, scene.plan.cwd)) is not None]
        if _PERM.search(line) or (_METADATA.search(line) and _CLOSED.search(line)):
            yield from _denial_of_metadata(line, [path for _, path in named], scene)
        if not _PERM.search(line):
            for word, path in named:
                yield from _denial_of_path(word, path, line, scene)
    network = scene.wanted.network
    if network is not True and _is_network(line):
        for rule in network_rules(network):
            yield Denial(rule, f"the network ({_network(network)})", likely=True)


def _words(line: str) -> Iterator[_PathCandidate]:
    """Yield what may be a path: quoted words and absolute paths; if there are none, the text before the complaint. The
    name of the complaining program is skipped."""
    name, _, rest = _DENIED.split(line)[0].partition(": ")
    rest = rest.strip(": ")
    if rest:
        line = line[len(name) + 2 :]
    quoted = (next(filter(None, match.groups())) for match in _QUOTED.finditer(line))
    absolute = (match[1] for match in islice(_ABSOLUTE.finditer(line), _MAX_WORDS))
    last = rest.rpartition(": ")[2]
    whole = [last] if last.startswith("/") and " " in last else []  # bash: line 1: /a file: Permission denied
    words = [*islice(quoted, _MAX_WORDS), *whole, *absolute]
    words = [word for word in dict.fromkeys(words) if not _DENIED.search(word)]
    if words:
        yield from map(
            _PathCandidate, words[-1:] if re.search(r"\bcopy\b", line) else words
        )  # the source of a copy is only read
    elif rest and not _is_network(line) and not set(rest) & set("'\"`\u2018\u2019"):
        *others, last = rest.split(": ")
        if others and _METADATA.search(last):
            last = others[-1]  # tar: FILE: Cannot utime
        yield _PathCandidate(last, "bare")
        if " " in last:
            yield _PathCandidate(last.rpartition(" ")[2], "guess")  # cannot open output file FILE


def _path(word: str, cwd: str) -> str | None:
    """Resolve a word to a path. None if no file could exist there: no such directory, or too long."""
    path = os.path.normpath(os.path.join(cwd, word))
    if not word or "\0" in path or len(path) >= _PATH_MAX or not os.path.isdir(os.path.dirname(path)):
        return None
    return path if len(os.path.basename(path)) <= _NAME_MAX else None


def _denial_of_metadata(line: str, paths: list[str], scene: _Context) -> Iterator[Denial]:
    """Yield a denied change of mode, owner or times. The action names no path: after a `cd` into the private TMPDIR no
    path could be tested."""
    evident = _METADATA.search(line) is not None
    if evident and _OWNERS.search(line) and os.geteuid() != 0:
        return  # an unprivileged user cannot change the owner of a file anyway
    owners = [owner for path in paths if (owner := _owner(path)) is not None]
    if any(owner != os.geteuid() for owner in owners) or not (evident or owners):
        return
    workspace = scene.wanted.workspace
    if workspace is None:
        where = ", also in $TMPDIR" if scene.plan.private_tmpdir else ""
    elif _CLOSED.search(line) and not any(is_below(os.path.realpath(p), r) for p in paths for r in workspace.roots):
        where = " outside the workspace"
    elif _PERM.search(line) and _MODES.search(line):  # the only mode bit that the filter denies there
        yield Denial("kernel", "setting the set-user-ID bit of a file", likely=True)
        return
    else:
        return
    yield Denial("metadata", f"changing permissions, owners or times of files{where}", likely=not evident)


def _owner(path: str) -> int | None:
    """Return the owner; None if the file does not exist: the private TMPDIR is being removed by now."""
    try:
        return os.lstat(path).st_uid
    except OSError:
        return None


def _denial_of_path(word: _PathCandidate, path: str, line: str, scene: _Context) -> Iterator[Denial]:
    """Yield what the plan denies about a path; nothing if this user could not have done it without a sandbox either."""
    real, workspace = os.path.realpath(path), scene.wanted.workspace
    if any(is_below(real, hidden) for hidden in scene.wanted.hidden):
        yield Denial("hidden", f"reading {_quote_path(path)}")
        return
    if workspace is not None:
        kept = [each for each in workspace.protected if each not in scene.plan.protected.compared]
        if _CLOSED.search(line) and any(is_below(real, each) or is_below(path, each) for each in kept):
            yield Denial("writes", f"changing {_quote_path(path)}, which {_protection_reason(real, scene)}")
        if any(is_below(real, root) for root in workspace.roots):
            return
    if _BUSY.search(line) or real in DEVICES or _is_private_tmpdir(real, scene.plan) or not _could_write(path):
        return
    likely = _is_likely_a_write(word.text, path, line, scene)
    if likely is not None and _is_target(word, path, line, scene):
        verb = "changing" if os.path.lexists(path) else "writing"
        outside = "" if workspace is None else ", which is outside the workspace"
        elsewhere = not os.path.isabs(word.text) and _MOVES.search(scene.text) is not None
        by_name = word.kind == "marked" or (word.text in scene.text and " " not in word.text)
        yield Denial("writes", f"{verb} {_quote_path(path)}{outside}", likely=likely or elsewhere or not by_name)


def _protection_reason(real: str, scene: _Context) -> str:
    if any(is_below(real, own) for own in scene.wanted.own_code):
        return f"nacre itself runs from (unprotected=({OWN_CODE!r},) would allow it; better install nacre elsewhere)"
    return "is protected"


def _is_likely_a_write(word: str, path: str, line: str, scene: _Context) -> bool | None:
    """Return False for a certain write, True for a likely one, None if nothing indicates a write."""
    if _is_written(word, line, scene):
        return False
    said = line.replace(word, "")
    if _READ.search(said):
        return None
    if not os.path.lexists(path):
        return False  # a failed read of a missing file reports a different error
    if not _may(path, stat.S_IRUSR):
        return None
    may_be_a_start = scene.runs or _RUNNERS.search(line) is not None
    return None if may_be_a_start and not _may(path, stat.S_IXUSR) else True


def _is_written(word: str, line: str, scene: _Context) -> bool:
    """Return whether the words around it, or a redirection in the command, show a write to this path."""
    said = line.replace(word, "")
    said = said.partition(": ")[2] or said  # `make` and `link` are programs, too
    if _WRITE.search(said):
        return True
    return re.search(r">[>|&]?\s*['\"]?" + re.escape(word) + r"(?:['\"\s;&|)]|$)", scene.text) is not None


def _is_target(word: _PathCandidate, path: str, line: str, scene: _Context) -> bool:
    """Return False for a path that does not exist and is probably part of a sentence."""
    if os.path.lexists(path) or word.text in scene.text:
        return True
    return " " not in word.text and (word.kind != "guess" or _is_written(word.text, line, scene))


def _quote_path(path: str) -> str:
    """Quote a path as data: on one line, in quotes, its middle left out if it is very long."""
    shown = repr(path)
    if len(shown) <= _MAX_PATH_CHARS:
        return shown
    return f"{shown[: _MAX_PATH_CHARS - _PATH_END_CHARS - 1]}\u2026{shown[-_PATH_END_CHARS:]}"


def _is_private_tmpdir(path: str, plan: Plan) -> bool:
    """Return whether a path is in the private TMPDIR, recognised by the name that the keeper gives it."""
    return plan.private_tmpdir and _PRIVATE_TMPDIR.search(path) is not None


_PRIVATE_TMPDIR = re.compile(r"/nacre-[^/]+/tmp-\d+(?:/|$)")


def _may(path: str, right: int) -> bool:
    """Return whether this user has a right by the mode bits, without root's capabilities. `right` is the owner's
    bit."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    if status.st_uid == os.geteuid():
        return bool(status.st_mode & right)
    if status.st_gid == os.getegid() or status.st_gid in os.getgroups():
        return bool(status.st_mode & right >> 3)
    return bool(status.st_mode & right >> 6)


def _could_write(path: str) -> bool:
    """Return whether this user may write the file, or its directory if it does not exist (or was to be removed)."""
    directory = os.path.dirname(path)
    try:
        if os.statvfs(directory).f_flag & os.ST_RDONLY:
            return False
    except OSError:
        return False
    return _may(path, stat.S_IWUSR) or _may(directory, stat.S_IWUSR)


def _network(network: Network) -> str:
    if isinstance(network, tuple):
        if len(network) > _MAX_LISTED_PORTS:
            return "only TCP to some ports is open"
        return f"only TCP to port {' or '.join(map(str, network))} is open"
    return "only a private loopback is open" if network == "loopback" else "there is none"


_counts: OrderedDict[tuple[str, str], int] = OrderedDict()
_lock = threading.Lock()


def _repeat_note(conversation: str, action: str) -> str:
    """Return a note with the number of attempts in this conversation, from the third on. Empty for a run without a
    conversation name: these may belong to any number of conversations."""
    if not conversation:
        return ""
    with _lock:
        key = conversation, action
        _counts[key] = count = _counts.pop(key, 0) + 1
        while len(_counts) > _MAX_CONVERSATIONS:
            _counts.popitem(last=False)
    return f"This is attempt {count} at the same action. " if count >= _REPEAT_NOTE_COUNT else ""
