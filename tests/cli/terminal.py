"""`nacre` started with a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.cli.nacre_program import NACRE, Nacre, Program, need_locale, read_terminal
from tests.support.waiting import HANG_TIMEOUT_S


@contextmanager
def start_at_terminal(
    nacre: Nacre, *words: str, env: Mapping[str, str] | None = None, stdout: int | None = None
) -> Iterator[tuple[Program, int]]:
    """Start the program with a terminal as stdout and stderr, or as stderr only; yield it and our end of that."""
    places = {"LANG": "C.UTF-8", "TERM": "xterm-256color", "LC_ALL": "", "LC_CTYPE": "", "NO_COLOR": ""}
    need_locale({**nacre.env, **places, **(env or {})})
    ours, theirs = pty.openpty()
    resize(theirs, 80, 30)
    try:
        with subprocess.Popen(
            [*NACRE, *words],
            stdin=subprocess.DEVNULL,
            stdout=theirs if stdout is None else stdout,
            stderr=theirs,
            cwd=nacre.home,
            env={**nacre.env, **places, **(env or {})},
            start_new_session=True,
        ) as program:
            os.close(theirs)
            try:
                yield program, ours
            finally:
                program.kill()
    finally:
        os.close(ours)


def resize(fd: int, columns: int, lines: int) -> None:
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


def run_in_terminal(nacre: Nacre, *words: str, env: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Run the program; return its exit code and all that the terminal received."""
    with start_at_terminal(nacre, *words, env=env) as (program, terminal):
        said = read_terminal(terminal).decode()
        return program.wait(HANG_TIMEOUT_S), said.replace("\r\n", "\n")


def strip_styles(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
