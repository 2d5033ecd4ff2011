"""`nacre.check`: judge a command line as it would run here."""

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
    """Return the checker's verdict on a command. Nothing is run.

    `cwd`: the working directory, and `HOME` in `env`: the home directory; by default, this process's. Values in `env`
    are known words, and some of them are code (`BASH_ENV`, exported functions). `stdin` is checked as a script if a
    shell would read it. Raises `InvalidRequest` for arguments that no shell can take, `CheckUnavailable` if a module of
    the checker cannot be read.
    """
    return check_script(command, cwd=cwd, env=env, stdin=stdin, policy=policy)[1]


def check_script(
    command: str,
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    policy: Policy = DEFAULT,
    want_harmless: bool = True,
    inherited: Mapping[str, str] | None = None,
) -> tuple[Script, Verdict]:
    """Return the parsed script and its verdict, as `check` does.

    `want_harmless=False` skips deciding whether the command is plain. Values of the `inherited` environment are known
    words.
    """
    _validate(command, env, stdin)
    place = _directory(cwd)
    home = (env and env.get("HOME")) or os.environ.get("HOME") or "/root"
    try:
        script = read(command, cwd=place, home=home, env=env, stdin=stdin, inherited=inherited)
        context = CheckContext(place, home, find_mount_points=mount_points, own_runtime_names=own_runtime_names())
        return script, evaluate(script, context, policy, want_harmless=want_harmless)
    except OSError as error:  # a rule's module is loaded on first use
        raise CheckUnavailable(f"the command could not be checked: {error}") from error


def _validate(command: object, env: Mapping[str, str] | None, stdin: object) -> None:
    if not isinstance(command, str):
        kind = type(command).__name__
        raise InvalidRequest(
            "bad_command", f"The command is a {kind}, not a string.", field="command", hint="Pass shell text."
        )
    if "\0" in command:
        raise InvalidRequest(
            "nul_byte", "`command` contains a NUL byte, which a shell cannot read.", field="command", hint="Remove it."
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
    """Return the mount points that this process sees; none if the mount table cannot be read."""
    from nacre.base.mount_table import read_mount_table  # only needed by rules about mount points

    try:
        entries = read_mount_table()
    except OSError:
        return ()
    return tuple([entry.point.decode("utf-8", "surrogateescape") for entry in entries])  # decoded like a command


@cache
def own_runtime_names() -> tuple[str, ...]:
    """Return the names under which this process's program runs: `python3.11`, `python3`, `python`."""
    name = os.path.basename(sys.executable or "python3")
    return tuple(dict.fromkeys((name, name.partition(".")[0], name.rstrip("0123456789."))))
