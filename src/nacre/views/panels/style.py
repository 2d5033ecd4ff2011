"""Tools for drawing: styles, rules, and a console that writes to no file."""

from __future__ import annotations

import textwrap
from io import StringIO
from typing import TypeAlias

from rich.console import Console, ConsoleRenderable
from rich.style import Style
from rich.text import Text

from nacre.ansi.width import columns
from nacre.base.lazy_regex import lazy_regex
from nacre.views.console.capabilities import TerminalCapabilities
from nacre.views.console.escape import escape_output, to_ascii

Drawing: TypeAlias = "list[ConsoleRenderable]"

_CONSOLE_LINES = 1000
"""Height of the console. Nothing depends on it."""
_QUOTED = lazy_regex(r"`[^`]*`")
_GLUE = "\x00"
"""Stands for a space at which no line may break. (Printable text never contains it.)"""

STYLES = {
    "good": "green",
    "bad": "red",
    "odd": "magenta",
    "key": "bold",
    "text": "green",
    "value": "magenta",
    "strong": "bold",
    "faint": "dim",
    "note": "dim italic",
    "command": "bold",
}
"""Green, red and magenta are readable on white and on black; every other colour is unreadable on one of them."""


def style(name: str) -> Style:
    """Return the rich style of a name in `STYLES`, or of a style definition."""
    return Style.parse(STYLES.get(name, name))


def styled_line(*parts: str | tuple[str, str]) -> Text:
    """Build one line from parts, each with an optional style name. Every part is escaped here, even if the caller
    forgot to."""
    text = Text(no_wrap=True, overflow="ignore", end="")
    for part in parts:
        if isinstance(part, str):
            text.append(escape_output(part))
        else:
            text.append(escape_output(part[0]), style(part[1]))
    return text


def rule(look: TerminalCapabilities, name: str = "faint") -> Text:
    """Draw a horizontal rule."""
    return styled_line((look.rule * look.width, name))


def titled_rule(look: TerminalCapabilities, title: Text, status: Text | None = None, name: str = "faint") -> Text:
    """Draw a rule with a title, and a status at its other end."""
    line = styled_line((look.rule * 2 + " ", name))
    line.append_text(title)
    end = Text() if status is None else Text.assemble(" ", status, " ", (look.rule * 2, style(name)))
    shown = line.plain if look.utf8 else to_ascii(line.plain)
    room = look.width - columns(shown) - columns(end.plain) - 1
    line.append(" ")
    line.append(look.rule * max(room, 1), style(name))
    line.append_text(end)
    return line


def wrap_text(text: str, look: TerminalCapabilities, label: str, *, copied: bool = True) -> Drawing:
    """Wrap a sentence of nacre's between words. A path longer than a line is not broken. Nor is text in backquotes,
    because it is for copying (with `copied` false, only if it fits on a line)."""
    words = escape_output(" ".join(text.split()))
    room = max(look.width - len(label), 20)
    glued = _QUOTED.sub(
        lambda found: found[0].replace(" ", _GLUE) if copied or len(found[0]) <= room else found[0], words
    )
    lines = textwrap.wrap(glued, room, break_long_words=False, break_on_hyphens=False)
    return [
        styled_line((" " * len(label) if number else label, "faint"), line.replace(_GLUE, " "))
        for number, line in enumerate(lines)
    ]


def console(look: TerminalCapabilities, *, record: bool = False) -> Console:
    """Return a console that writes to no file and reads nothing from the environment: each setting found there is
    given."""
    return Console(
        file=StringIO(),
        width=look.width,
        height=_CONSOLE_LINES,
        record=record,
        force_terminal=look.colour,
        force_interactive=False,
        force_jupyter=False,
        color_system="standard" if look.colour else None,
        no_color=not look.colour,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
        safe_box=False,
    )


def render(drawing: Drawing, look: TerminalCapabilities) -> str:
    """Return the text to write to the terminal."""
    paper = console(look)
    with paper.capture() as captured:
        for each in drawing:
            # the terminal wraps a long line: it knows that it is one line, and copies it as one
            paper.print(each, soft_wrap=isinstance(each, Text), end="\n" if isinstance(each, Text) else "")
    text = captured.get()
    return text if look.utf8 else to_ascii(text)
