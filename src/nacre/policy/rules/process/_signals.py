"""Parses calls of kill, pkill and killall: the signal and the targets."""

from __future__ import annotations

from nacre.base.frozen import frozen
from nacre.base.lazy_regex import lazy_regex
from nacre.policy.rules._options import ParsedOptions, parse_options, which_program
from nacre.shell.command import Command

_NUMBERS = {"1": "HUP", "9": "KILL", "10": "USR1", "12": "USR2", "15": "TERM", "17": "CHLD", "18": "CONT", "23": "URG"}
_NAMES = lazy_regex(
    "HUP|INT|QUIT|ILL|TRAP|ABRT|IOT|BUS|FPE|KILL|USR[12]|SEGV|PIPE|ALRM|TERM|CHLD|CONT|STOP|TSTP|TTIN|TTOU|URG|XCPU|XFSZ|"
    "VTALRM|PROF|WINCH|IO|SYS|PWR"
)
HARMLESS = frozenset(("0", "EXIT", "CHLD", "CONT", "URG", "WINCH", "28"))
"""Signals that kill no process."""
_PKILL_LONG = (
    "signal= pidfile= pgroup= group= parent= runstates= session= terminal= euid= uid= older= queue= ns= nslist= "
    "cgroup= exact full newest oldest inverse"
)
_KILLALL_LONG = "signal= younger-than= older-than= ns= user= context= exact interactive list quiet regexp wait"
_NARROW = ("-P", "--parent", "-g", "--pgroup", "-t", "--terminal", "-F", "--pidfile", "--ns", "--cgroup")


def kill_call(command: Command) -> tuple[str, list[str]] | None:
    """Return the signal that `kill` sends and its targets; None if it sends none."""
    if not which_program(command, "kill"):
        return None
    signal, args = "TERM", list(command.args)
    while args and args[0].startswith("-"):
        word = args.pop(0)
        if word == "--":
            break
        if word in ("-s", "-n", "--signal") or word.startswith("--signal="):
            signal = word.partition("=")[2] or (args.pop(0) if args else "")
        elif word.startswith("--") or word in ("-l", "-L", "-p", "-V"):
            return None
        else:
            signal = word[2:] if word[1:2] == "s" and _NAMES.fullmatch(_signal(word[2:])) else word[1:]
        if args[:1] == ["--"]:
            args.pop(0)
        break
    return _signal(signal), args


@frozen
class KillByName:
    """A call of pkill or killall."""

    name: str
    signal: str
    parsed: ParsedOptions
    narrow: bool
    """Options other than names limit it to some processes."""

    @property
    def full(self) -> bool:
        """Whether the pattern must match the whole name."""
        return self.parsed.is_set("-x", "--exact") if self.name == "pkill" else not self.parsed.is_set("-r", "--regexp")


def by_name(command: Command) -> KillByName | None:
    """Return the call of pkill or killall if it may kill a process, else None."""
    name = which_program(command, "pkill", "killall")
    if not name or command.args[:1] in (("--help",), ("--version",), ("-l",), ("--list",)):
        return None
    signal, rest = "TERM", list(command.args)
    for index, word in enumerate(rest):
        if len(word) > 1 and word[0] == "-" and (word[1:].isdecimal() or _NAMES.fullmatch(_signal(word[1:]))):
            signal = rest.pop(index)[1:]
            break
    given = (
        parse_options(rest, "FGgPrstuUOq", _PKILL_LONG)
        if name == "pkill"
        else parse_options(rest, "syonuZ", _KILLALL_LONG)
    )
    for value in given.values("--signal", *(("-s",) if name == "killall" else ())):
        signal = value
    if _signal(signal) in HARMLESS or (name == "killall" and given.is_set("-i", "--interactive")):
        return None
    narrow = given.has(*_NARROW, *(("-s", "--session") if name == "pkill" else ()))
    return KillByName(name, _signal(signal), given, narrow and name == "pkill")


def _signal(text: str) -> str:
    name = text.upper().removeprefix("SIG")
    return _NUMBERS.get(name, name)
