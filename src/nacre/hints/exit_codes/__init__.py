"""Explain an exit status from the script, the status and the output; in a few words or not at all. Pure.

The script is read as bash would run it (`candidates`) to find the commands that may have returned the status. An
explanation (`table`) is given only if it holds for all of them. Excluded are commands that never fail without an error
message, whose message would have been in the output, and is not.
"""

from __future__ import annotations

import re
import signal
from itertools import takewhile

from nacre.base.lazy_regex import lazy_regex
from nacre.hints.exit_codes.candidates import Candidate, candidates, name_of
from nacre.hints.exit_codes.table import RAN, Meaning, meaning_for
from nacre.shell import Command, read

__all__ = ["Meaning", "explain", "explain_signal"]

_MAX_COMMAND_CHARS = 20_000
"""Maximum length of a script that is read, in characters."""
_SIGNALS = 128
_NEVER_FAILS = frozenset(("echo", "true", ":", "pwd", "export", "set"))
_COMPLAINS = frozenset(
    """cd pushd popd mkdir rmdir cp mv rm ln touch chmod cat date printf unset sleep
    doas ionice setsid chrt taskset""".split()
)
"""Commands that print their own name when they fail."""
_SOURCES = ("source", ".")
_RUNNERS = frozenset("uv poetry pipenv pdm hatch rye".split())
"""Programs that print their own message on failure, and return the exit status of the program that they run."""
_SUDO = lazy_regex(r"sudo: |sudoers|(?m:^Sorry, )")
_BASH = lazy_regex(r"(?m)^(?:/\S{1,60}/)?(?:ba|da|z|k)?sh: (?!line \d+: +\d+ )")
"""A message of the shell itself: a redirection or an expansion failed, and the command may not have run. The report
that a process was killed is not such a message."""
_CLOCKS = ("timeout", "gtimeout")
_CLOCKS_OWN = (124, 125)
"""Exit statuses of `timeout` itself, which hardly any program behind it returns; all others are that program's."""
_CLOCK = lazy_regex(r"\btimeout\s")
_BY_KILL = _SIGNALS + signal.SIGKILL


def explain(command: str, code: int, *, cwd: str = "/", home: str = "/root", output: str = "") -> Meaning | None:
    """Return the meaning of an exit status, or None if it is unknown or ambiguous.

    `output` is the output or a part of it: it shows which command complained.
    """
    if code <= 0:
        return None
    meaning = _of_command(command, code, cwd, home, output) if len(command) <= _MAX_COMMAND_CHARS else None
    if meaning is None and not _chooses_own_codes(command, code):
        meaning = _of_shell(code, output, clock=_CLOCK.search(command) is not None)
    return meaning if meaning is not None and meaning.text else None


def _chooses_own_codes(command: str, code: int) -> bool:
    """Return true if the script exits with this status explicitly: it may mean anything."""
    return re.search(rf"(?i)exit\w{{0,9}}\W{{1,4}}{code}\b", command) is not None


def explain_signal(number: int) -> str:
    """Return why a shell may have been killed by this signal; empty if the name of the signal says enough."""
    return _BY_SIGNAL.get(number, "")


def _of_command(command: str, code: int, cwd: str, home: str, output: str) -> Meaning | None:
    if _BASH.search(output):
        return None
    try:
        mays = candidates(read(command, cwd=cwd or "/", home=home))
    except Exception:  # unexpected input to the parser must not cost the result
        return None
    known = [may for may in mays if may is not None]
    if len(known) < len(mays):
        return None
    if clock := next((may.command for may in known if name_of(may.command) in _CLOCKS), None):
        if code in _CLOCKS_OWN:
            return meaning_for(clock, code, output)
        if code == _BY_KILL and _sends(clock):
            return Meaning(f"ended by SIGKILL, most likely from {clock.name}")
        known = [may for may in known if name_of(may.command) not in _CLOCKS]
    found = {meaning_for(may.command, code, output) for may in known if not _would_have_complained(may, output)}
    return found.pop() if len(found) == 1 else None


def _sends(clock: Command) -> bool:
    """Return true if `timeout` is given the signal to send, or a second one (`-k`)."""
    options = takewhile(lambda word: word.startswith("-"), clock.args)
    return any(word.startswith(("-s", "-k", "--s", "--k")) for word in options)


def _would_have_complained(may: Candidate, output: str) -> bool:
    """Return true if this command cannot have failed: it would have printed a message."""
    name, args = name_of(may.command), may.command.args
    if name in _NEVER_FAILS:
        return True
    if name in _SOURCES:
        return args[:1] != () and args[0].endswith("bin/activate")
    if may.silent:
        return False
    if name in _RUNNERS:
        return RAN.search(output) is not None and any("pytest" in word for word in args)
    if name == "sudo":
        return not _SUDO.search(output)
    return name in _COMPLAINS and f"{name}: " not in output


_BY_SIGNAL: dict[int, str] = {
    signal.SIGKILL: "out of memory, or `kill -9`",
    signal.SIGSEGV: "invalid memory access",
    signal.SIGABRT: "it aborted",
    signal.SIGBUS: "memory behind a mapped file was gone",
    signal.SIGFPE: "division by zero or similar",
    signal.SIGILL: "an instruction that this processor does not have",
    signal.SIGPIPE: "its reader closed the pipe early",
}


_LIKELY = (signal.SIGINT, signal.SIGTERM)
"""Programs that catch one of these exit with the same status, and so do others that mean something else by it."""


def _of_shell(code: int, output: str, *, clock: bool) -> Meaning | None:
    """Return the meaning by the conventions of shells, for any command. `clock`: the script uses `timeout`."""
    if code == 127:
        return None if "not found" in output or "No such file" in output else Meaning("a command was not found")
    if code == 126:
        complaints = ("denied", "cannot execute", "s a directory")
        return None if any(words in output for words in complaints) else Meaning("a command could not be executed")
    number = code - _SIGNALS
    if number in _LIKELY:
        return Meaning(f"most likely ended by {signal.Signals(number).name}")
    if number not in _BY_SIGNAL:
        return None
    more = "" if clock and number == signal.SIGKILL else f" ({_BY_SIGNAL[number]})"
    return Meaning(f"ended by {signal.Signals(number).name}{more}")
