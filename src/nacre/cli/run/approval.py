"""A verdict that asks → a person's word: given ahead with `--yes`, or typed at the terminal.

Reads the terminal itself, not standard input, which may be the command's. What was typed before the question was there
is no answer to it. Anything but "y" or "yes" is a no; so is a terminal that ends. A cancelled question lets go of the
terminal at once.
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
"""Where `tcgetattr` has what the terminal does by itself."""


def approver(*, yes: bool) -> Callable[[Verdict], Awaitable[bool] | bool] | None:
    """None: there is nobody to ask."""
    if yes:
        return lambda _: True
    return _ask if os.isatty(0) and os.isatty(2) else None


async def _ask(verdict: Verdict) -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return False  # the terminal is not ours: nobody can answer
    _put_question(verdict, terminal)
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[tuple[bytes, bool]] = loop.create_future()
    stop, stopped = os.pipe()

    def tell(line: bytes, echoed: bool) -> None:
        if not answer.done():
            answer.set_result((line, echoed))

    def hear() -> None:
        line = _line(terminal, until=stop)
        echoed = line and _echoes(terminal)
        os.close(terminal)
        os.close(stop)
        with suppress(RuntimeError):  # the loop is gone, and with it whoever asked
            loop.call_soon_threadsafe(tell, line, bool(echoed))

    threading.Thread(target=hear, name="nacre-approve", daemon=True).start()
    said, echoed = b"", False
    try:
        said, echoed = await answer
    finally:
        os.close(stopped)
        if not echoed:
            write_out("\n", to=2)  # what comes next begins on a line of its own
    return said.strip().lower() in _YES


def _put_question(verdict: Verdict, terminal: int) -> None:
    from nacre.cli.common.terminal import is_utf8, size  # where there is somebody to ask
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
    """What is typed, up to Enter, the terminal's end, or the end of `until`."""
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
