"""Asks a person to approve a command; `--yes` approves in advance.

Reads the terminal itself, not standard input, which may be the command's. Input typed before the question appeared is
discarded. Any answer but "y" or "yes" means no, and so does EOF. A cancelled question releases the terminal at once.
"""

from __future__ import annotations

import asyncio
import os
import select
import termios
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress

from nacre.cli.common.messages import write_out
from nacre.verdict import Verdict

_YES = (b"y", b"yes")
_LFLAG_INDEX = 3
"""Index of the local flags (ECHO and others) in the result of `tcgetattr`."""


def approver(*, yes: bool) -> Callable[[Verdict], Awaitable[bool] | bool] | None:
    """Return the callback that approves or rejects a verdict; None if there is no terminal to ask a person at."""
    if yes:
        return lambda _: True
    return _ask if os.isatty(0) and os.isatty(2) else None


async def _ask(verdict: Verdict) -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return False  # the process has no controlling terminal: no person can answer
    _put_question(verdict, terminal)
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[tuple[bytes, bool]] = loop.create_future()
    stop, stopped = os.pipe()

    def set_answer(line: bytes, echoed: bool) -> None:
        if not answer.done():
            answer.set_result((line, echoed))

    def read_answer() -> None:
        line = _line(terminal, until=stop)
        echoed = line and _echoes(terminal)
        os.close(terminal)
        os.close(stop)
        with suppress(RuntimeError):  # the event loop is closed: no caller waits
            loop.call_soon_threadsafe(set_answer, line, bool(echoed))

    threading.Thread(target=read_answer, name="nacre-approve", daemon=True).start()
    said, echoed = b"", False
    try:
        said, echoed = await answer
    finally:
        os.close(stopped)
        if not echoed:
            write_out("\n", to=2)  # the next output starts on a new line
    return said.strip().lower() in _YES


def _put_question(verdict: Verdict, terminal: int) -> None:
    from nacre.cli.common.terminal import is_utf8, size  # imported here: needed for a question only
    from nacre.views.console.approval_prompt import QUESTION, prompt_lines

    lines = prompt_lines(verdict, size(2).columns, utf8=is_utf8())
    write_out("".join(f"{line}\n" for line in lines), to=2)
    with suppress(termios.error):
        termios.tcflush(terminal, termios.TCIFLUSH)
    write_out(QUESTION, to=2)


def _echoes(terminal: int) -> bool:
    with suppress(termios.error):
        return bool(termios.tcgetattr(terminal)[_LFLAG_INDEX] & termios.ECHO)
    return False


def _line(terminal: int, *, until: int) -> bytes:
    """Read one line from `terminal`. Return `b""` on EOF, or when the other end of the pipe `until` is closed."""
    line = b""
    while not line.endswith(b"\n"):
        try:
            ready, _, _ = select.select([terminal, until], [], [])
            data = b"" if until in ready else os.read(terminal, 1024)
        except OSError:
            data = b""
        if not data:
            return b""
        line += data
    return line
