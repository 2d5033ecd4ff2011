"""A verdict that asks → a person's word: given ahead with `--yes`, or typed at the terminal.

Reads the terminal itself, not standard input, which may be the command's. Anything but "y" or "yes" is a no; so is a
terminal that ends. A cancelled question lets go of the terminal at once.
"""

from __future__ import annotations

import asyncio
import os
import select
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress

from nacre.cli.speak import put, say
from nacre.verdict import Verdict

_MOST = 10
"""Findings that a question lists."""
_YES = (b"y", b"yes")


def approver(command: str, *, yes: bool) -> Callable[[Verdict], Awaitable[bool] | bool] | None:
    """None: there is nobody to ask."""
    if yes:
        return lambda _: True
    if not (os.isatty(0) and os.isatty(2)):
        return None

    async def ask(verdict: Verdict) -> bool:
        return await _ask(command, verdict)

    return ask


async def _ask(command: str, verdict: Verdict) -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return False  # the terminal is not ours: nobody can answer
    for finding in verdict.findings[:_MOST]:
        say(f"{finding.rule}: {finding.message}")
    if (more := len(verdict.findings) - _MOST) > 0:
        say(f"… and {more:,} more; `nacre explain` shows them")
    if not verdict.findings:
        say(verdict.reason)
    put(_whole(command) + "Run it? [y/N] ", to=2)
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[bytes] = loop.create_future()
    stop, stopped = os.pipe()

    def tell(line: bytes) -> None:
        if not answer.done():
            answer.set_result(line)

    def hear() -> None:
        line = _line(terminal, until=stop)
        os.close(terminal)
        os.close(stop)
        with suppress(RuntimeError):  # the loop is gone, and with it whoever asked
            loop.call_soon_threadsafe(tell, line)

    threading.Thread(target=hear, name="nacre-approve", daemon=True).start()
    try:
        said = await answer
    except asyncio.CancelledError:
        put("\n", to=2)
        raise
    finally:
        os.close(stopped)
    return said.strip().lower() in _YES


def _whole(command: str) -> str:
    """All of it, every line behind a bar: none can pass for one of ours."""
    from nacre.cli.terminal import is_utf8  # where there is somebody to ask
    from nacre.views.simplify import display

    bar = "│" if is_utf8() else "|"
    return "".join(f"  {bar} {line}\n" for line in display(command, "", full=True).split("\n"))


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
