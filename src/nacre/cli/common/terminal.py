"""Detects what a terminal can show, from the terminal and the environment.

No other module decides on colour or UTF-8.
"""

from __future__ import annotations

import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.views.console.capabilities import TerminalCapabilities

_DEFAULT_COLUMNS = 80
_MIN_COLUMNS, _MAX_COLUMNS = 20, 500


def terminal_capabilities(fd: int = 1) -> TerminalCapabilities:
    """Return size, colour and encoding of the terminal `fd`. The height is 0 if `fd` is not a terminal."""
    from nacre.views.console.capabilities import TerminalCapabilities  # `is_utf8` needs no view

    columns, lines = size(fd)
    return TerminalCapabilities(
        width=columns, colour=has_colour(fd), utf8=is_utf8(), height=lines if os.isatty(fd) else 0
    )


def has_colour(fd: int = 1) -> bool:
    """Return whether to write colours to `fd`: a terminal that is not dumb, and `NO_COLOR` unset."""
    return os.isatty(fd) and not os.environ.get("NO_COLOR") and not is_dumb()


def size(fd: int = 1) -> os.terminal_size:
    """Return columns and lines: of the terminal, else `$COLUMNS`, else 80 by 24. Columns are clamped to 20 to 500."""
    try:
        found = os.get_terminal_size(fd)
    except OSError:
        found = os.terminal_size((0, 0))
    if not found.columns:
        word = os.environ.get("COLUMNS", "")
        found = os.terminal_size(
            (int(word) if word.isdecimal() and len(word) < 5 else _DEFAULT_COLUMNS, found.lines or 24)
        )
    return os.terminal_size((min(max(found.columns, _MIN_COLUMNS), _MAX_COLUMNS), found.lines or 24))


def is_dumb() -> bool:
    return os.environ.get("TERM", "dumb") in ("dumb", "")


def is_utf8() -> bool:
    """Return whether the locale is UTF-8. If the locale is C or missing, Python itself has set LC_CTYPE to C.UTF-8:
    then LANG decides. Without any variable, assume UTF-8, as in most terminals."""
    environ = os.environ
    word = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or ""
    if word == environ.get("LC_CTYPE") == "C.UTF-8" and not environ.get("LC_ALL"):
        word = environ.get("LANG") or word
    return not word or "utf8" in word.lower().replace("-", "")


def is_ready(fd: int) -> bool:
    """Return whether a write of a few bytes would not block."""
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    return bool(poll.poll(0))


def reflows() -> bool:
    """Return whether the terminal re-wraps long lines when it gets narrower. Most do. Assuming it of a terminal that
    does not would erase a line too many."""
    environ = os.environ
    if "TMUX" in environ:
        return True
    return "XTERM_VERSION" not in environ and "STY" not in environ and environ.get("TERM") != "linux"
