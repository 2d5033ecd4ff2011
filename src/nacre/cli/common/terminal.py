"""What a terminal can show, by what it and the environment say. The only place that decides about colour and UTF-8."""

from __future__ import annotations

import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.views.console.capabilities import TerminalCapabilities

_DEFAULT_COLUMNS = 80
_MIN_COLUMNS, _MAX_COLUMNS = 20, 500


def terminal_capabilities(fd: int = 1) -> TerminalCapabilities:
    from nacre.views.console.capabilities import TerminalCapabilities  # whoever only asks about UTF-8 needs no view

    columns, lines = size(fd)
    return TerminalCapabilities(
        width=columns, colour=has_colour(fd), utf8=is_utf8(), height=lines if os.isatty(fd) else 0
    )


def has_colour(fd: int = 1) -> bool:
    return os.isatty(fd) and not os.environ.get("NO_COLOR") and not is_dumb()


def size(fd: int = 1) -> os.terminal_size:
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
    """As the locale says. Where that is C or missing, Python itself has set LC_CTYPE: then LANG tells; and without any,
    most terminals are."""
    environ = os.environ
    word = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or ""
    if word == environ.get("LC_CTYPE") == "C.UTF-8" and not environ.get("LC_ALL"):
        word = environ.get("LANG") or word
    return not word or "utf8" in word.lower().replace("-", "")


def is_ready(fd: int) -> bool:
    """Whether it takes a few bytes at once."""
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    return bool(poll.poll(0))


def reflows() -> bool:
    """Whether it breaks long lines anew when it gets narrower. Most do; to take it for granted of one that does not
    would erase a line too many."""
    environ = os.environ
    if "TMUX" in environ:
        return True
    return "XTERM_VERSION" not in environ and "STY" not in environ and environ.get("TERM") != "linux"
