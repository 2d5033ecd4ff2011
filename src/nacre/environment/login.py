"""Take a snapshot of the environment of the user's login shell, by running the shell once.

Starts `$SHELL` (or the password database's shell) as an interactive login shell, because rc files set up nvm, pyenv and
others only for interactive shells. The shell prints its environment between two random marks, so that other output of
the rc files does not matter. It has no terminal and no input, and `TIMEOUT_S` seconds; its process group is killed in
any case. It starts from this process's environment, like a terminal's shell, with `GUARD` set so that rc files can
detect it.

Blocks: call it from a thread. One successful snapshot per shell and home directory is cached for the life of the
process. The result is not filtered: `build_env` does that, as for any inherited environment.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from threading import Lock

from nacre.environment.host import host_environment
from nacre.environment.unsafe_variables import BASH_VARIABLES
from nacre.errors import InvalidRequest

TIMEOUT_S = 10.0
GUARD = "NACRE_READING_ENVIRONMENT"
"""Set to 1 while rc files run for a snapshot: `[ -n "$NACRE_READING_ENVIRONMENT" ] && return` skips what may hang."""

_EXIT_GRACE_S = 0.5
"""Seconds for the shell to exit after it printed its environment (logout files, history)."""
_MAX_OUTPUT_BYTES = 8 * 1024 * 1024
"""Bytes to read before giving up on a shell that prints without end."""
_PER_RUN_VARIABLES = frozenset({GUARD, "_", "PWD", "OLDPWD", "SHLVL", "TERM"})
"""Variables that belong to the snapshot's shell; the result has this process's values."""
_WITHHELD_VARIABLES = _PER_RUN_VARIABLES | BASH_VARIABLES | {"VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT"}
"""Variables that the shell does not get: bash's own switches, and this program's virtual environment, whose directory
/etc/profile drops from PATH: `uv pip install` would still install into it.
"""

_lock = Lock()
_snapshots: dict[tuple[str, str], dict[str, str]] = {}


def login_environment(
    inherited: Mapping[str, str] | None = None, *, shell: str | None = None, timeout: float = TIMEOUT_S
) -> dict[str, str]:
    """Return the variables that a new login shell of this user would export.

    `inherited`: the environment to start from (None: this process's). `shell`: its path (None: the user's). `timeout`:
    in seconds. Raises `InvalidRequest` (`login_env`) if the shell does not start or does not print its environment.
    """
    base = host_environment() if inherited is None else dict(inherited)
    program = shell or _login_shell(base)
    key = (program, base.get("HOME", ""))
    with _lock:  # concurrent callers wait for the first snapshot instead of starting a shell each
        if key not in _snapshots:
            _snapshots[key] = _take(program, base, timeout)
        return _snapshots[key].copy()


def forget() -> None:
    """Drop the snapshots, so that the next call takes a new one."""
    with _lock:
        _snapshots.clear()


def _login_shell(base: Mapping[str, str]) -> str:
    candidates = [base.get("SHELL", "")]
    with suppress(ImportError, KeyError):  # a container's arbitrary uid has no entry
        from pwd import getpwuid

        candidates.append(getpwuid(os.getuid()).pw_shell)
    for shell in [*candidates, "/bin/bash", "/bin/sh"]:
        if os.path.isabs(shell) and os.access(shell, os.X_OK) and os.path.basename(shell) not in {"nologin", "false"}:
            return shell
    raise _failure("no login shell was found", "Set SHELL to the absolute path of one, or leave login_env off.")


def _take(program: str, base: dict[str, str], timeout: float) -> dict[str, str]:
    mark = f"nacre-{os.urandom(16).hex()}"
    env = {name: value for name, value in base.items() if name not in _WITHHELD_VARIABLES}
    output = _run(program, mark, {**env, GUARD: "1", "TERM": "dumb"}, timeout)
    _, _, rest = output.partition(mark.encode())
    listing, end, _ = rest.partition(mark.encode())
    if not end:
        raise _failure(
            f"{program} exited without reporting its environment",
            f"One of its startup files may run `exit` or `exec`: have it return early when {GUARD} is set.",
        )
    return _parse(listing, base)


def _parse(listing: bytes, base: dict[str, str]) -> dict[str, str]:
    pairs = (os.fsdecode(entry).partition("=") for entry in listing.split(b"\0") if b"=" in entry)
    values = {name: value for name, _, value in pairs if name not in _PER_RUN_VARIABLES}
    values.update((name, base[name]) for name in _PER_RUN_VARIABLES if name in base)
    return values


def _run(program: str, mark: str, env: dict[str, str], timeout: float) -> bytes:
    """Return the shell's output until it closes its stdout, or until shortly after the second mark."""
    import subprocess  # imported here: most hosts never need it
    from select import POLLIN, poll
    from time import monotonic

    # `command` bypasses functions, the absolute path bypasses aliases; the shell that ran the start files prints both
    # marks.
    script = f"command printf %s {mark}; /usr/bin/env -0; command printf %s {mark}"
    home = env.get("HOME", "/")
    try:
        process = subprocess.Popen(
            [program, "-l", "-i", "-c", script],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=home if os.path.isdir(home) else "/",
            env=env,
            start_new_session=True,
        )
    except OSError as error:
        raise _failure(f"{program} could not be started ({error.strerror})", "Set SHELL to another shell.") from error
    assert process.stdout is not None
    output = bytearray()
    deadline = monotonic() + timeout
    complete = False
    with process.stdout as pipe:
        ready = poll()
        ready.register(pipe, POLLIN)
        try:
            while len(output) < _MAX_OUTPUT_BYTES and (left := deadline - monotonic()) > 0:
                if not ready.poll(left * 1000):
                    break
                if not (chunk := os.read(pipe.fileno(), 65536)):
                    return bytes(output)
                output += chunk
                if not complete and output.count(mark.encode()) == 2:
                    # EOF may never come: a daemon that a start file left behind may hold the pipe open.
                    complete, deadline = True, min(deadline, monotonic() + _EXIT_GRACE_S)
        finally:
            _kill_group(process.pid)
            process.wait(timeout=5)  # SIGKILL was sent; the timeout is for a process that cannot be killed
    if complete:
        return bytes(output)
    raise _failure(
        f"{program} did not report its environment within {timeout:g} s",
        f"A startup file waits or prints forever: have it return early when {GUARD} is set, or leave login_env off.",
    )


def _kill_group(group: int) -> None:
    import signal

    with suppress(ProcessLookupError, PermissionError):  # macOS: EPERM for a group of zombies
        os.killpg(group, signal.SIGKILL)  # the leader is not yet waited for, so its ID cannot have been reused


def _failure(what: str, hint: str) -> InvalidRequest:
    message = f"The login environment could not be read: {what}."
    return InvalidRequest("login_env", message, field="login_env", hint=hint)
