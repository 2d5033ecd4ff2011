"""The `nacre` program in its own process, with a private home directory."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.waiting import HANG_TIMEOUT_S

NACRE = [sys.executable, "-W", "error", "-m", "nacre"]

KILL_KEEPER = "read _ _ _ keeper _ </proc/$$/stat; kill -9 $keeper"
"""Shell text that kills the keeper. The checker cannot tell which process it is: `kill -9 $PPID` would be refused."""

Program = subprocess.Popen[bytes]


def need_locale(env: Mapping[str, str]) -> None:
    """Skip the test if Python cannot start in the locale of these variables."""
    locale = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or "C"
    if locale in ("C", "POSIX") and env.get("LC_ALL") and sys.version_info < (3, 13) and not sys.prefix.isascii():
        pytest.skip("Python before 3.13 does not start with LC_ALL=C if its path is not ASCII")


@dataclass(frozen=True)
class Done:
    """Exit code and output of a program."""

    code: int = 0
    out: bytes = b""
    err: bytes = b""


class Nacre:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.state = home / "state"
        self.config = home / ".config" / "nacre" / "config.toml"
        places = {"HOME": str(home), "XDG_STATE_HOME": str(self.state), "XDG_CONFIG_HOME": str(home / ".config")}
        self.env = {**os.environ, **places, "TERM": "dumb"}

    def __call__(
        self, *words: str | bytes, stdin: bytes = b"", cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> Done:
        """Run the program until it exits."""
        with self.start(*words, cwd=cwd, env=env) as program:
            return finish(program, stdin)

    @contextmanager
    def start(
        self,
        *words: str | bytes,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdout: int = subprocess.PIPE,
        through: tuple[str, ...] = (),
    ) -> Iterator[Program]:
        """Start the program in its own session, as a terminal would; kill it at the end if it is alive. `through` is an
        argv prefix such as `sh -c '…; exec "$@"' sh`."""
        need_locale({**self.env, **(env or {})})
        with subprocess.Popen(
            [*through, *NACRE, *words],
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=subprocess.PIPE,
            cwd=self.home if cwd is None else cwd,
            env={**self.env, **(env or {})},
            start_new_session=True,
        ) as program:
            try:
                yield program
            finally:
                program.kill()


def finish(program: Program, stdin: bytes | None = None) -> Done:
    """Write `stdin`, read the rest of the output, and wait for the exit."""
    out, err = program.communicate(stdin, timeout=HANG_TIMEOUT_S)
    return Done(program.returncode, out or b"", err)


def read(program: Program, expected: bytes) -> None:
    """Read exactly these bytes from stdout; fail at EOF."""
    assert program.stdout is not None
    fd = program.stdout.fileno()
    said = b""
    while len(said) < len(expected):
        ready, _, _ = select.select([fd], [], [], HANG_TIMEOUT_S)
        if not ready:
            pytest.fail(f"read {said!r}, and nothing more in {HANG_TIMEOUT_S:g} s")
        data = os.read(fd, len(expected) - len(said))
        assert data, f"EOF after {said!r}"
        said += data
    assert said == expected


def read_line(fd: int) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([fd], [], [], HANG_TIMEOUT_S)
        assert ready, f"read only {line!r} in {HANG_TIMEOUT_S:g} s"
        data = os.read(fd, 1)
        assert data, f"EOF after {line!r}"
        line += data
    return line


ID = re.compile(rb"(bash-[0-9a-f]{8})\n")


def background(nacre: Nacre, *words: str | bytes) -> str:
    """Start a task that does not exit at once; return its id."""
    done = nacre("run", "--background", *words)
    found = ID.fullmatch(done.out)
    assert found is not None, done
    assert done.code == 0, done
    return found[1].decode()


@contextmanager
def start_on_terminal(nacre: Nacre, *words: str, columns: int = 100, lines: int = 30) -> Iterator[tuple[Program, int]]:
    """Start the program with a terminal as stdout; yield it and our end of the terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    try:
        with nacre.start(*words, stdout=theirs, env={"TERM": "xterm"}) as program:
            os.close(theirs)
            yield program, ours
    finally:
        os.close(ours)


def read_terminal(fd: int, until: bytes = b"") -> bytes:
    """Read what the terminal receives, until the bytes `until` or EOF."""
    seen = b""
    while not until or until not in seen:
        ready, _, _ = select.select([fd], [], [], HANG_TIMEOUT_S)
        assert ready, f"read only {seen!r} in {HANG_TIMEOUT_S:g} s"
        try:
            data = os.read(fd, 65536)
        except OSError:  # the other end is closed
            data = b""
        if not data:
            assert not until, f"EOF after {seen!r}"
            break
        seen += data
    return seen
