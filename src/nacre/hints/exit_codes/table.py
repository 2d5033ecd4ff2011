"""Map a program, its arguments and its exit status to a meaning. Data, and the few functions that read it.

Entries follow the program's manual, and leave out what its output says anyway. `normal`: nothing went wrong, the status
is the program's way of answering no.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from nacre.base.frozen import frozen
from nacre.base.lazy_regex import lazy_regex
from nacre.hints.exit_codes.candidates import name_of
from nacre.shell import Command


@frozen
class Meaning:
    """The meaning of an exit status."""

    text: str
    """The explanation. Empty: the meaning is known, and the output states it."""


_SAID = Meaning("")
_Codes: TypeAlias = dict[int, Meaning]


def meaning_for(command: Command, code: int, output: str) -> Meaning | None:
    """Return the meaning of the status; None if it is unknown or ambiguous."""
    name = name_of(command)
    if name.startswith("python") and command.args[:1] == ("-m",):
        name = command.args[1] if command.args[1:2] and command.args[1] in _MODULES else ""
    if special := _SPECIAL.get(name):
        return special(command, code, output)
    return _TABLE.get(name, {}).get(code)


_MODULES = frozenset(("pytest", "mypy", "ruff", "black", "isort"))
"""Python modules that are programs of the same name."""


def _grep(command: Command, code: int, output: str) -> Meaning | None:
    if command.has_flag("-L", "--files-without-match"):
        return None  # the meaning of its status has differed between versions
    match code:
        case 1 if command.has_flag("-v", "--invert-match"):
            return Meaning(f"{command.name} -v left no line")
        case 1:
            return Meaning(f"{command.name} found no match")
        case 2:
            return Meaning(f"{command.name} had an error: a bad pattern, or an unreadable file")
    return None


def _git(command: Command, code: int, output: str) -> Meaning | None:
    words = command.operands("-C", "-c", "--git-dir", "--work-tree", "--namespace")
    verb = words[0] if words else ""
    if code == 1:
        flags = _GIT_WITH.get(verb)
        if flags is not None and command.has_flag(*flags[0]):
            return Meaning(flags[1])
        if verb == "commit" and "nothing to commit" in output:
            return Meaning("there was nothing to commit")
        if verb == "merge" and "CONFLICT" in output:
            return Meaning("the merge has conflicts to resolve")
        return Meaning(_GIT_NO[verb]) if verb in _GIT_NO else None
    if code == 128:
        return _SAID if "fatal" in output else Meaning("git had a fatal error")
    if code == 129:
        return _SAID if "usage" in output else Meaning("git was called with invalid arguments")
    return None


_GIT_NO = {"grep": "git grep found no match", "show-ref": "there is no such ref", "check-ignore": "no path is ignored"}
_GIT_WITH: dict[str, tuple[tuple[str, ...], str]] = {
    "diff": (("--exit-code", "--quiet", "--no-index"), "there are differences"),
    "diff-index": (("--exit-code", "--quiet"), "there are differences"),
    "diff-files": (("--exit-code", "--quiet"), "there are differences"),
    "merge-base": (("--is-ancestor",), "it is not an ancestor"),
    "ls-files": (("--error-unmatch",), "git does not track it"),
    "config": (("--get", "--get-all", "--get-regexp"), "it is not set"),
    "rev-parse": (("--verify",), "there is no such revision"),
}


_SYSTEMD = lazy_regex(r"(?m)^(?:Failed|System has not been booted)")


def _systemctl(command: Command, code: int, output: str) -> Meaning | None:
    verb = next(iter(command.operands("-H", "-M", "-t", "-p", "-n")), "")
    match verb, code:
        case "status" | "is-active", 3:
            return Meaning("the unit is not active")
        case "status" | "is-active" | "is-enabled", 4:
            return Meaning("there is no such unit")
        case "is-enabled", 1 if not _SYSTEMD.search(output):
            return Meaning("the unit is not enabled")
        case "is-failed", 1 if not _SYSTEMD.search(output):
            return Meaning("the unit has not failed")
    return None


def _npm(command: Command, code: int, output: str) -> Meaning | None:
    verb = next(iter(command.operands("--prefix", "-C", "-w", "--workspace")), "")
    meanings = {
        "outdated": Meaning("some packages are outdated"),
        "audit": Meaning("vulnerabilities were found"),
        "ls": Meaning("the installed packages do not match package.json"),
    }
    return meanings.get(verb) if code == 1 and not _NPM.search(output) else None


_NPM = lazy_regex(r"(?im)^npm err")


def _ruff(command: Command, code: int, output: str) -> Meaning | None:
    verb = next(iter(command.operands("--config")), "")
    if code == 1 and verb == "format" and command.has_flag("--check", "--diff"):
        return Meaning("some files would be reformatted")
    return Meaning("ruff itself failed: its options or configuration") if code == 2 else None


def _cargo(command: Command, code: int, output: str) -> Meaning | None:
    verb = next((word for word in command.operands() if not word.startswith("+")), "")
    if code != 101:
        return None
    if "could not compile" in output:
        return Meaning("it did not compile")
    return Meaning("a test failed") if verb == "test" and "test result: FAILED" in output else None


def _terraform(command: Command, code: int, output: str) -> Meaning | None:
    return Meaning("the plan has changes") if code == 2 and "-detailed-exitcode" in command.args else None


def _formatter(command: Command, code: int, output: str) -> Meaning | None:
    flags = ("--check",) if command.name == "black" else ("--check", "-c")
    return Meaning("some files would be reformatted") if code == 1 and command.has_flag(*flags) else None


def _checksum(command: Command, code: int, output: str) -> Meaning | None:
    if code == 1 and command.has_flag("--check", "-c"):
        return Meaning("a checksum does not match, or a file is missing")
    return None


def _find(command: Command, code: int, output: str) -> Meaning | None:
    if code == 1 and "Permission denied" in output:
        return Meaning("find could not read some directories; it printed the rest")
    return None


def _make(command: Command, code: int, output: str) -> Meaning | None:
    if code == 2 and (not output.strip() or "*** [" in output):
        return Meaning("make stopped at a failed target; the cause is further up")
    return None


RAN = lazy_regex(
    r"(?m)\d (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?)\b|no tests ran|^(?:ERROR|FAILED)\b|"
    r"INTERNALERROR|^!!!|^={10}"
)
"""Output that shows that pytest has started: the status is pytest's own."""


def _pytest(command: Command, code: int, output: str) -> Meaning | None:
    return _PYTEST.get(code) if not output.strip() or RAN.search(output) else None


def _processes(command: Command, code: int, output: str) -> Meaning | None:
    return Meaning("no process matched") if code == 1 and "not permitted" not in output else None


def _users(command: Command, code: int, output: str) -> Meaning | None:
    """Return the meaning for `fuser` and `lsof`, which also exit with 1 if they could not look."""
    if code != 1 or _LOOKED_IN_VAIN.search(output):
        return None
    return Meaning("no process uses it" if command.name == "fuser" else "lsof found nothing")


_LOOKED_IN_VAIN = lazy_regex(r"(?i)does not exist|cannot|can't|not permitted|lsof: |fuser: ")


def _jq(command: Command, code: int, output: str) -> Meaning | None:
    asked = command.has_flag("-e", "--exit-status")
    match code:
        case 1 if asked:
            return Meaning("the last value was false or null")
        case 4 if asked:
            return Meaning("jq produced no value")
        case 2:
            return Meaning("jq had invalid arguments, or could not read the file")
        case 3:
            return Meaning("the jq program does not compile")
        case 5:
            return Meaning("jq failed on its input: it is not valid JSON, or the program does not fit it")
    return None


def _timeout(command: Command, code: int, output: str) -> Meaning | None:
    return {
        124: Meaning(f"{command.name} killed it at its time limit"),
        125: Meaning(f"{command.name} itself failed"),
    }.get(code)


_SPECIAL: dict[str, Callable[[Command, int, str], Meaning | None]] = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "rg", "ag", "ack", "zgrep", "ggrep"), _grep),
    **dict.fromkeys(("black", "prettier", "isort"), _formatter),
    **dict.fromkeys(("md5sum", "sha1sum", "sha256sum", "sha512sum", "shasum"), _checksum),
    **dict.fromkeys(("timeout", "gtimeout"), _timeout),
    **dict.fromkeys(("terraform", "tofu"), _terraform),
    **dict.fromkeys(("make", "gmake"), _make),
    **dict.fromkeys(("pytest", "py.test"), _pytest),
    **dict.fromkeys(("pgrep", "pkill", "killall"), _processes),
    **dict.fromkeys(("fuser", "lsof"), _users),
    "cargo": _cargo,
    "find": _find,
    "git": _git,
    "jq": _jq,
    "npm": _npm,
    "ruff": _ruff,
    "systemctl": _systemctl,
}

_DIFFER = {1: Meaning("they differ"), 2: Meaning("the comparison itself failed")}
_FALSE = {1: Meaning("the test is false"), 2: Meaning("the test is malformed")}
_PYTEST = {
    1: Meaning("some tests failed"),
    2: Meaning("pytest was interrupted, or could not collect the tests"),
    3: Meaning("pytest itself failed"),
    4: Meaning("pytest could not start: its arguments, a path, or a conftest"),
    5: Meaning("pytest collected no tests"),
}
_CURL = {
    3: "the URL is malformed",
    5: "the proxy could not be resolved",
    6: "the host could not be resolved",
    7: "the connection was refused or failed",
    18: "the transfer ended early",
    22: "the server answered with an error (400 or above)",
    23: "the output could not be written",
    26: "a local file could not be read",
    28: "it timed out",
    35: "the TLS handshake failed",
    47: "too many redirects",
    51: "the server's certificate does not match",
    52: "the server sent nothing",
    55: "sending failed",
    56: "receiving failed: the connection was reset or closed",
    60: "the server's certificate cannot be verified",
    67: "the login was refused",
}
_WGET = {
    3: "a file could not be written",
    4: "the network failed",
    5: "the server's certificate cannot be verified",
    6: "the login was refused",
    8: "the server answered with an error",
}
_RSYNC = {
    11: "a file could not be read or written",
    12: "the connection to the other side broke",
    23: "some files were not transferred",
    24: "some files vanished while it ran",
    30: "it timed out",
    255: "ssh failed",
}


def _table(codes: dict[int, str]) -> _Codes:
    return {code: Meaning(text) for code, text in codes.items()}


_TABLE: dict[str, _Codes] = {
    **dict.fromkeys(("diff", "cmp", "colordiff", "sdiff", "diff3", "zdiff"), _DIFFER),
    **dict.fromkeys(("test", "["), _FALSE),
    **{key: {1: Meaning("not found on PATH")} for key in ("which", "type", "hash", "command")},
    **{key: {255: Meaning("ssh itself failed: connection, host key or login")} for key in ("ssh", "scp", "sftp")},
    **{key: {125: Meaning("the container engine itself failed")} for key in ("docker", "podman")},
    **{key: {100: Meaning("apt gave up; its lines with E: say why")} for key in ("apt", "apt-get")},
    "[[": {1: Meaning("the test is false"), 2: Meaning("the test is malformed")},
    "((": {1: Meaning("the result is zero")},
    "let": {1: Meaning("the result is zero")},
    "expr": {1: Meaning("the result is zero or empty"), 2: Meaning("the expression is malformed")},
    "read": {1: Meaning("there was no more input to read")},
    "curl": _table(_CURL),
    "wget": _table(_WGET),
    "rsync": _table(_RSYNC),
    "xargs": {
        123: Meaning("some commands that xargs ran failed"),
        124: Meaning("a command that xargs ran exited with 255"),
        125: Meaning("a command that xargs ran was killed"),
    },
    "tar": {1: Meaning("some files changed while tar read them, or differ")},
    "patch": {1: Meaning("some hunks could not be applied")},
    "getent": {2: Meaning("there is no such entry")},
    "mountpoint": {32: Meaning("it is not a mount point")},
    "ping": {1: Meaning("there was no answer"), 2: Meaning("ping itself failed: bad name, or no permission")},
    "psql": {2: Meaning("the connection to the server failed"), 3: Meaning("the script failed (ON_ERROR_STOP)")},
    "mypy": {2: Meaning("mypy itself failed: its options, or a file")},
    "eslint": {2: Meaning("eslint itself failed: its options or configuration")},
    "gh": {4: Meaning("gh is not logged in")},
}
