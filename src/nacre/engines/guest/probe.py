"""Check whether an engine's program is installed and works. Blocking: for threads."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess

from nacre.environment import host_environment

_PROBE_TIMEOUT_S = 20.0


def probe(command: list[str]) -> str | None:
    """Run a command. Return its error message as a sentence; empty if it succeeds, None if the program is not
    installed."""
    if shutil.which(command[0]) is None:  # running it would report an inaccessible directory in PATH instead
        return None
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROBE_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{error}."
    if done.returncode == 0:
        return ""
    return _last_line(done.stderr) or f"it exits with {done.returncode}."


def _last_line(data: bytes) -> str:
    lines = data.decode("utf-8", "replace").strip().splitlines()
    return last_line_as_sentence(lines[-1]) if lines else ""


def last_line_as_sentence(words: str) -> str:
    """Return the text with a full stop at its end."""
    return words if words.endswith((".", "?", "!")) else f"{words}."


_DETACHED_SCRIPT = """set -m
{ %b
} &
work=$!
{ exec 6<> <(:); read -r -t %d -u 6; kill -9 -$work; } &
wait $work
kill -9 -$!
"""


def run_detached(bash: str, text: bytes, *arguments: str) -> None:
    """Run shell text in a detached process that may outlive this one, for at most 20 s. If no process can be started,
    do nothing."""
    script = b"{ %b } </dev/null >/dev/null 2>&1 &" % (_DETACHED_SCRIPT.encode() % (text, _PROBE_TIMEOUT_S))
    with contextlib.suppress(OSError):
        words = [bash, "-c", os.fsdecode(script), "bash", *arguments]
        pid = os.posix_spawn(bash, words, host_environment(), setsid=True)
        os.waitpid(pid, 0)  # the starting shell exits at once; its background job keeps running
