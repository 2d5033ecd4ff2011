"""The drawing tools: styles, rules, a console that writes nowhere."""

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
"""Lines. Nothing here depends on it."""
_QUOTED = lazy_regex(r"`[^`]*`")
_GLUE = "\x00"
"""For a blank at which no line ends. (What is printable holds none.)"""

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
"""Green, red and magenta can be read on white and on black; of the others, each is lost on one of them."""


def style(name: str) -> Style:
    return Style.parse(STYLES.get(name, name))


def styled_line(*parts: str | tuple[str, str]) -> Text:
    """Pieces of one line, each with the name of its style. Whoever forgets to escape one has it escaped here."""
    text = Text(no_wrap=True, overflow="ignore", end="")
    for part in parts:
        if isinstance(part, str):
            text.append(escape_output(part))
        else:
            text.append(escape_output(part[0]), style(part[1]))
    return text


def rule(look: TerminalCapabilities, name: str = "faint") -> Text:
    return styled_line((look.rule * look.width, name))


def titled_rule(look: TerminalCapabilities, title: Text, status: Text | None = None, name: str = "faint") -> Text:
    """A rule with a title in it, and at its other end how it stands."""
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
    """Our own sentences, between words. A path that is longer than a line stays one, and so does what stands in
    backquotes: it is for copying (`copied`; else only if it fits on a line)."""
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
    """One that writes nowhere, and takes nothing from the environment: all that it would look for there is given."""
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
    """As the terminal takes it."""
    paper = console(look)
    with paper.capture() as captured:
        for each in drawing:
            # a line that is too long is the terminal's to wrap: it knows that it is one, and copies it as one
            paper.print(each, soft_wrap=isinstance(each, Text), end="\n" if isinstance(each, Text) else "")
    text = captured.get()
    return text if look.utf8 else to_ascii(text)
