"""Writes nacre's own output: text, JSON, and lines that begin with `nacre: `. Every write is complete.

A terminal that is not UTF-8 gets ASCII: all text for a terminal passes through `encode_for_terminal`.
"""

from __future__ import annotations

import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data`. Block until the reader has taken it, even if another process made the file non-blocking."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:
            poll = select.poll()
            poll.register(fd, select.POLLOUT)
            poll.poll()


class WriteFailed(Exception):
    """nacre's own output could not be written. (If the reader is gone, BrokenPipeError is raised instead.)"""


class HelpRequested(Exception):
    """The arguments ask for a help text, which is the exception's text."""


def encode_for_terminal(text: str, to: int) -> bytes:
    """Encode `text` for the file descriptor `to`: ASCII with escapes if it is a terminal that is not UTF-8, else UTF-8.
    Lone surrogates become escapes that are valid in JSON, too."""
    if not text.isascii() and not takes_utf8(to):
        from nacre.views.console.escape import to_ascii

        text = to_ascii(text)
    return text.encode("utf-8", "backslashreplace")


def takes_utf8(to: int) -> bool:
    """Return whether to write UTF-8 to `to`; False only for a terminal with another encoding."""
    if not os.isatty(to):
        return True
    from nacre.cli.common.terminal import is_utf8

    return is_utf8()


def write_out(text: str, *, to: int = 1) -> None:
    """Write all of `text`. Raise WriteFailed if that fails, BrokenPipeError if the reader is gone."""
    try:
        write_all(to, encode_for_terminal(text, to))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise WriteFailed(error.strerror) from error


def write_json(data: dict[str, Any]) -> None:
    """Print `data` as one line of JSON on stdout, with unprintable characters escaped."""
    import json

    text = json.dumps(data, ensure_ascii=not takes_utf8(1))
    if not text.isprintable():  # JSON permits DEL, C1 controls and bidi overrides unescaped
        text = "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in text)
    write_out(text + "\n")


def printable(text: str) -> str:
    """Escape characters that control the terminal or are invisible: process names and commands may contain any."""
    if text.isascii() and text.isprintable():
        return text
    from nacre.views.console.escape import escape_text

    return escape_text(text)


def notice(text: str) -> None:
    """Print a line on stderr that begins with `nacre: `. Do nothing if it cannot be written."""
    from contextlib import suppress  # imported here because most calls print no notice

    with suppress(BrokenPipeError, WriteFailed):
        write_out(f"nacre: {printable(text)}\n", to=2)
