"""Check that bash executes what nacre has parsed: generated scripts run with stubs for programs, which record how and
where they were called; every call must be among the commands that `nacre.shell` found in the script."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fuzz.script_generator import FILES, STUBS, ScriptGenerator
from nacre.shell import Command, read
from nacre.shell.symbolic import glob_to_regex, has_glob, is_literal, to_source, with_unknowns_empty

_STUB = """#!/bin/sh
printf '%s\\000' "$#" "$PWD" "${{0##*/}}" "$@" >>{log}
{rest}
"""
_REST = {"alpha": "exit 0", "beta": "exit 1", "gamma": 'echo "$*"', "delta": "echo alpha"}
_TOOLS = (
    "basename bash cat chmod cp diff dirname env find head mkdir mv nice nohup sed seq setsid sh stdbuf tee timeout "
    "touch tr xargs yes"
).split()
"""The only other programs that can be executed."""
_RUN_TIMEOUT_S = 240.0
_BETWEEN = "\x1f"
_PIPE, _PIPED = re.compile("/dev/fd/[0-9]+"), "/dev/fd/63"
"""The result of `<(…)`; its number is unpredictable."""


@dataclass(frozen=True)
class Call:
    """One execution of a stub."""

    where: str
    argv: tuple[str, ...]


class Running:
    """A case is the text of a script."""

    def __init__(self) -> None:
        self._place = Path(tempfile.mkdtemp(prefix="nacre-fuzz-"))
        self._log = self._place / "log"
        self._stubs = self._place / "stubs"
        self._stubs.mkdir()
        for name in STUBS:
            stub = self._stubs / name
            stub.write_text(_STUB.format(log=self._log, rest=_REST[name]))
            stub.chmod(0o755)
        for name in _TOOLS:
            if tool := shutil.which(name):
                (self._stubs / name).symlink_to(tool)

    def close(self) -> None:
        shutil.rmtree(self._place, ignore_errors=True)

    def invent(self, seed: int) -> str:
        return ScriptGenerator(seed).script()

    def wrong(self, text: str) -> str:
        """Return a call by bash that nacre did not foresee; empty if there is none."""
        place = self._place / "some" / "where" / "work"  # deep enough that `cd ..` does not leave it
        shutil.rmtree(place, ignore_errors=True)
        for name in FILES:
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text("k\n")
        script = read(text, cwd=str(place), home=str(place))
        if script.gave_up or script.syntax_error or script.maybe_syntax_error or script.env_runs_code:
            return ""
        said = [(_expected_pattern(command), _where(command)) for command in script.commands if command.argv]
        for call in self._execute(text, place):
            words = _PIPE.sub(_PIPED, _BETWEEN.join(call.argv))
            if not any(each.fullmatch(words) and where.fullmatch(call.where) for each, where in said):
                commands = "\n".join(f"  {command.cwd}: {command.words}" for command in script.commands)
                return f"bash executed {list(call.argv)} in {call.where}, and nacre has read:\n{commands}"
        return ""

    def _execute(self, text: str, place: Path) -> list[Call]:
        self._log.write_bytes(b"")
        env = {"PATH": str(self._stubs), "HOME": str(place), "LC_ALL": "C.UTF-8"}
        with subprocess.Popen(
            ["bash", "--norc", "-c", text], cwd=place, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        ) as bash:  # fmt: skip
            try:
                bash.wait(_RUN_TIMEOUT_S)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(bash.pid, signal.SIGKILL)
        return _calls(self._log.read_bytes())


def _calls(log: bytes) -> list[Call]:
    words = log.decode(errors="surrogateescape").split("\0")[:-1]
    found, at = [], 0
    while at < len(words):
        end = at + 3 + int(words[at])
        found.append(Call(words[at + 1], tuple(words[at + 2 : end])))
        at = end
    return found


def _expected_pattern(command: Command) -> re.Pattern[str]:
    """Return a pattern that matches the calls of a parsed command.

    An unknown word may be any number of words, or none; a glob may be several; and `xargs` and `find` pass their
    arguments in parts.
    """
    first, *rest = command.argv
    text = rf"(?:.*/)?{glob_to_regex(command.name if is_literal(command.name) else first)}"
    pieces = command.parent is not None and command.parent.name in ("xargs", "find")
    for word in rest:
        fits = f"{glob_to_regex(word)}|{re.escape(to_source(word))}"  # a glob without a match stays as it is
        text += (
            f"(?:{_BETWEEN}(?:{fits})){_repeat_mark(word, pieces)}"
            if with_unknowns_empty(word)
            else f"(?:{_BETWEEN}.*)?"
        )
    return re.compile(_PIPE.sub(_PIPED, text), re.DOTALL)


def _where(command: Command) -> re.Pattern[str]:
    """Return a pattern for its working directory; after a `cd` that may have failed it is unknown."""
    return re.compile(glob_to_regex(command.cwd) if command.cwd_certain else ".*", re.DOTALL)


def _repeat_mark(word: str, pieces: bool) -> str:
    return "*" if pieces or has_glob(word) else ""  # none at all, with `nullglob`
