"""The `nacre` program in its own process with a private home directory: arguments in, exit code and bytes out."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.interface.shapes import describe_shape
from tests.support.waiting import HANG_TIMEOUT_S

_PASSED_ON = "NACRE_PORTABLE"
_FOREIGN = ("NACRE_", "CLAUDE_", "CODEX_", "GEMINI_", "CURSOR_", "XDG_")
"""Prefixes of variables that would change the configuration."""


@dataclass(frozen=True)
class Finished:
    """Exit code and output of a program."""

    code: int
    out: bytes
    err: bytes

    def json_lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]

    def describe(self) -> dict[str, Any]:
        """Return the exit code and the shapes of the JSON lines on stdout."""
        shapes = [describe_shape(each) for each in self.json_lines()]
        return {"exit_code": self.code, "stdout": shapes[0] if len(shapes) == 1 else shapes, "stderr": bool(self.err)}

    def describe_flat(self) -> dict[str, Any]:
        """Return the same for one object on stdout, with its keys at the top level."""
        (data,) = self.json_lines()
        return {"(exit code)": self.code, "(stderr)": bool(self.err), **describe_shape(data)}


@dataclass(frozen=True)
class Call:
    """Arguments, stdin and environment of one call."""

    words: Sequence[str]
    stdin: bytes = b""
    env: Mapping[str, str] = field(default_factory=dict)


def read_line(process: subprocess.Popen[bytes]) -> bytes:
    """Read the next line of stdout."""
    assert process.stdout is not None
    fd, line = process.stdout.fileno(), b""
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([fd], [], [], HANG_TIMEOUT_S)
        data = os.read(fd, 1) if ready else b""
        if not data:
            pytest.fail(f"read only {line!r}, and {'the end' if ready else f'nothing more in {HANG_TIMEOUT_S:g} s'}")
        line += data
    return line


class Program:
    def __init__(self, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.home = home
        self.state = home / "state" / "nacre"
        self.settings = home / "config" / "nacre" / "config.toml"
        own = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "XDG_CONFIG_HOME": str(home / "config")}
        own["GIT_CEILING_DIRECTORIES"] = str(home)  # no repository above it may be found
        inherited = {
            name: value for name, value in os.environ.items() if name == _PASSED_ON or not name.startswith(_FOREIGN)
        }
        self.env = {**inherited, **own, "TERM": "dumb"}

    def configure(self, text: str) -> None:
        """Write the user's settings."""
        self.settings.parent.mkdir(parents=True, exist_ok=True)
        self.settings.write_text(text, encoding="utf-8")

    def run(self, *words: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Finished:
        """Run the program until it exits."""
        with self.start(*words, env=env) as process:
            out, err = process.communicate(stdin, timeout=HANG_TIMEOUT_S)
        return Finished(process.returncode, out, err)

    def run_all(self, calls: Mapping[str, Call]) -> dict[str, Finished]:
        """Run several calls in parallel: most of a call is the start of Python."""
        with ThreadPoolExecutor(max_workers=4) as pool:
            running = {
                name: pool.submit(self.run, *call.words, stdin=call.stdin, env=call.env) for name, call in calls.items()
            }
            return {name: future.result() for name, future in running.items()}

    @contextmanager
    def start(self, *words: str, env: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
        """Start the program; kill it at the end of the block if it is alive."""
        with subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "nacre", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.home,
            env={**self.env, **(env or {})},
            start_new_session=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def interrupt(self, process: subprocess.Popen[bytes]) -> int:
        """Send SIGINT, as Ctrl-C does; return the exit code."""
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=HANG_TIMEOUT_S)
        return process.returncode

    def kill_tasks(self) -> None:
        """Kill every running task."""
        found = self.run("tasks", "--json").json_lines()[0]["tasks"]
        if found:
            self.run("kill", "--signal", "KILL", *[task["id"] for task in found])
