"""`nacre.check`: a command line → Verdict, about exactly what would run here."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cache

from nacre.errors import CheckUnavailable, InvalidRequest
from nacre.policy.evaluate import evaluate
from nacre.policy.policy import DEFAULT, Policy
from nacre.policy.rule import CheckContext
from nacre.shell import Script, read
from nacre.verdict import Verdict


def check(
    command: str,
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    policy: Policy = DEFAULT,
) -> Verdict:
    """What the checker says of a command. Nothing is run.

    `cwd` and `HOME` are this process's unless given. Values in `env` are known words, and some of them code
    (`BASH_ENV`, exported functions); `stdin` is a script where a shell would read it.
    """
    return check_script(command, cwd=cwd, env=env, stdin=stdin, policy=policy)[1]


def check_script(
    command: str,
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    policy: Policy = DEFAULT,
    ask_plain: bool = True,
    inherited: Mapping[str, str] | None = None,
) -> tuple[Script, Verdict]:
    """The same, with what the command would run. Without `ask_plain` nobody wants to know whether it is plain; values
    of the `inherited` environment are known words."""
    _validate(command, env, stdin)
    place = _directory(cwd)
    home = (env and env.get("HOME")) or os.environ.get("HOME") or "/root"
    try:
        script = read(command, cwd=place, home=home, env=env, stdin=stdin, inherited=inherited)
        around = CheckContext(place, home, mounts=mount_points, runtimes=own_runtime_names())
        return script, evaluate(script, around, policy, ask_plain=ask_plain)
    except OSError as error:  # a rule's file is loaded when it is first needed
        raise CheckUnavailable(f"the command could not be checked: {error}") from error


def _validate(command: object, env: Mapping[str, str] | None, stdin: object) -> None:
    if not isinstance(command, str):
        kind = type(command).__name__
        raise InvalidRequest(
            "bad_command", f"The command is a {kind}, not a string.", field="command", hint="Pass shell text."
        )
    if "\0" in command:
        raise InvalidRequest(
            "nul_byte", "`command` holds a NUL byte, which no shell can take.", field="command", hint="Remove it."
        )
    if stdin is not None and not isinstance(stdin, str):
        raise InvalidRequest(
            "bad_stdin", f"`stdin` is {type(stdin).__name__}, not a string.", field="stdin", hint="Decode it."
        )
    for name, value in env.items() if env else ():
        if not isinstance(name, str) or not isinstance(value, str):
            raise InvalidRequest(
                "bad_env", f"The variable {name!r} is not a string.", field="env", hint="Give it as text."
            )


def _directory(cwd: str | os.PathLike[str] | None) -> str:
    if cwd is not None:
        return os.path.abspath(os.fspath(cwd))
    try:
        return os.getcwd()
    except OSError:
        return ""


def mount_points() -> tuple[str, ...]:
    """Mount points, as this process sees them; none if the system does not tell."""
    from nacre.base.mount_table import read_mount_table  # only needed by rules that ask where file systems are mounted

    try:
        entries = read_mount_table()
    except OSError:
        return ()
    return tuple([entry.point.decode("utf-8", "surrogateescape") for entry in entries])  # as bash gets a command


@cache
def own_runtime_names() -> tuple[str, ...]:
    """The names of the program that this process is: `python3.11`, `python3`, `python`."""
    name = os.path.basename(sys.executable or "python3")
    return tuple(dict.fromkeys((name, name.partition(".")[0], name.rstrip("0123456789."))))
