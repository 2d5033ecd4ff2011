"""What an exit code means for the command that gave it: text, code and output in, a few words or nothing out. Pure.

The command is read as bash would run it (`candidates`): who may have given the code? Something is said (`codes`) only
if it is true of all of them, but for those that never fail without a word of their own and have said none.
"""

from __future__ import annotations

import signal

from nacre.meanings.candidates import candidates
from nacre.meanings.codes import Meaning, meaning_for
from nacre.patterns import later
from nacre.shell import Command, read

__all__ = ["Meaning", "meaning", "meaning_of_signal"]

_LONGEST = 20_000
"""Characters of a command that is read."""
_SIGNALS = 128
_NEVER_FAILS = frozenset(("echo", "true", ":", "pwd", "export", "sleep", "set"))
_COMPLAINS = frozenset("cd pushd popd mkdir rmdir cp mv rm ln touch chmod cat date printf unset".split())
"""They name themselves when they fail."""
_SOURCES = ("source", ".")
_BASH = later(r"(?m)^(?:/\S{1,60}/)?bash: ")
"""It complains itself: a redirection or an expansion failed, and what was to run may not have run."""
_CLOCKS = ("timeout", "gtimeout")
_CLOCKS_OWN = (124, 125)
"""Their own codes, which hardly any program behind them gives; all others are that program's."""


def meaning(command: str, code: int, *, cwd: str = "/", home: str = "/root", output: str = "") -> Meaning | None:
    """None: nobody can say. `output` is what it printed, or some of it: it tells who complained."""
    if code <= 0:
        return None
    told = _of_command(command, code, cwd, home, output) if len(command) <= _LONGEST else None
    if told is None and f"exit {code}" not in command:  # it may mean anything by a code that it gives itself
        told = _of_shell(code, output)
    return told


def meaning_of_signal(number: int) -> str:
    """Of a shell that was ended by one; empty: its name says it."""
    return _BY_SIGNAL.get(number, "")


def _of_command(command: str, code: int, cwd: str, home: str, output: str) -> Meaning | None:
    if _BASH.search(output):
        return None
    try:
        mays = candidates(read(command, cwd=cwd or "/", home=home))
    except Exception:  # a text that nobody thought of must not cost the result
        return None
    if any(may is None for may in mays):
        return None
    known = [may for may in mays if may is not None]
    if clock := next((may for may in known if may.name in _CLOCKS), None):
        if code in _CLOCKS_OWN:
            return meaning_for(clock, code, output)
        known = [may for may in known if may.name not in _CLOCKS]
    found = {meaning_for(may, code, output) for may in known if not _is_innocent(may, output)}
    return found.pop() if len(found) == 1 else None


def _is_innocent(command: Command, output: str) -> bool:
    """It cannot have been this one: it would have said something."""
    if command.name in _NEVER_FAILS:
        return True
    if command.name in _SOURCES:
        return command.args[:1] != () and command.args[0].endswith("bin/activate")
    if command.name not in _COMPLAINS:
        return False
    silenced = any(opened.descriptor == "2" or "&" in opened.operator for opened in command.redirects)
    return not silenced and f"{command.name}: " not in output


_BY_SIGNAL: dict[int, str] = {
    signal.SIGKILL: "out of memory, or `kill -9`",
    signal.SIGSEGV: "invalid memory access",
    signal.SIGABRT: "it aborted itself",
    signal.SIGBUS: "memory behind a mapped file was gone",
    signal.SIGFPE: "division by zero, or the like",
    signal.SIGILL: "an instruction that this processor does not have",
    signal.SIGPIPE: "its reader closed the pipe early",
}


def _of_shell(code: int, output: str) -> Meaning | None:
    """What a shell says of whatever it ran."""
    if code == 127:
        return None if "not found" in output or "No such file" in output else Meaning("a command was not found")
    if code == 126:
        told = ("denied", "cannot execute", "s a directory")
        return None if any(words in output for words in told) else Meaning("a command could not be executed")
    number = code - _SIGNALS
    try:
        name = signal.Signals(number).name
    except ValueError:
        return None
    more = _BY_SIGNAL.get(number)
    return Meaning(f"ended by {name}" + (f" ({more})" if more else ""), normal=number == signal.SIGPIPE)
