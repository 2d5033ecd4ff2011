"""What nacre itself has to say: text, JSON, and lines that begin with `nacre: `. Writes bytes, all of them.

A terminal that takes no UTF-8 is sent ASCII: every text goes to a terminal by way of `encode_for_terminal`.
"""

from __future__ import annotations

import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def write_all(fd: int, data: bytes) -> None:
    """Blocks until the reader has taken it, also where somebody made the file non-blocking."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:
            poll = select.poll()
            poll.register(fd, select.POLLOUT)
            poll.poll()


class WriteFailed(Exception):
    """What nacre itself had to say found no room. (A reader that is gone is a BrokenPipeError as ever.)"""


def encode_for_terminal(text: str, to: int) -> bytes:
    """As whoever is there takes it. What UTF-8 cannot say is spelt, in a way that JSON has too."""
    if not text.isascii() and not takes_utf8(to):
        from nacre.views.console.escape import to_ascii

        text = to_ascii(text)
    return text.encode("utf-8", "backslashreplace")


def takes_utf8(to: int) -> bool:
    if not os.isatty(to):
        return True
    from nacre.cli.common.terminal import is_utf8

    return is_utf8()


def write_out(text: str, *, to: int = 1) -> None:
    try:
        write_all(to, encode_for_terminal(text, to))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise WriteFailed(error.strerror) from error


def write_json(data: dict[str, Any]) -> None:
    import json

    text = json.dumps(data, ensure_ascii=not takes_utf8(1))
    if not text.isprintable():  # DEL and C1 controls, texts that run backwards: JSON allows them as they are
        text = "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in text)
    write_out(text + "\n")


def printable(text: str) -> str:
    """A process can have any name, a command any text: none may command the terminal, or hide."""
    if text.isascii() and text.isprintable():
        return text
    from nacre.views.console.escape import escape_text

    return escape_text(text)


def notice(text: str) -> None:
    """A line on stderr, if anybody is there."""
    from contextlib import suppress  # here, because most calls have nothing to say

    with suppress(BrokenPipeError, WriteFailed):
        write_out(f"nacre: {printable(text)}\n", to=2)
