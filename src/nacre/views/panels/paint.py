"""The drawing tools: styles, rules, a console that writes nowhere."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from io import StringIO
from typing import TypeAlias

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console, ConsoleRenderable
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from nacre.patterns import later
from nacre.views.escape import in_ascii, printed
from nacre.views.look import Look

Drawing: TypeAlias = "list[ConsoleRenderable]"

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


def said(*parts: str | tuple[str, str]) -> Text:
    """Pieces of one line, each with the name of its style. Whoever forgets to escape one has it escaped here."""
    text = Text(no_wrap=True, overflow="ignore", end="")
    for part in parts:
        if isinstance(part, str):
            text.append(printed(part))
        else:
            text.append(printed(part[0]), style(part[1]))
    return text


def rule(look: Look, name: str = "faint") -> Text:
    return said((look.rule * look.width, name))


def titled(look: Look, title: Text, status: Text | None = None, name: str = "faint") -> Text:
    """A rule with a title in it, and at its other end how it stands."""
    line = said((look.rule * 2 + " ", name))
    line.append_text(title)
    end = Text() if status is None else Text.assemble(" ", status, " ", (look.rule * 2, style(name)))
    room = look.width - line.cell_len - end.cell_len - 1
    line.append(" ")
    line.append(look.rule * max(room, 1), style(name))
    line.append_text(end)
    return line


def wrapped(text: str, look: Look, label: str) -> Drawing:
    """Our own sentences, between words: a path that is longer than a line stays one."""
    words = printed(" ".join(text.split()))
    room = max(look.width - len(label), 20)
    lines = textwrap.wrap(words, room, break_long_words=False, break_on_hyphens=False)
    return [said((" " * len(label) if number else label, "faint"), line) for number, line in enumerate(lines)]


def render(drawing: Drawing, look: Look) -> str:
    """As the terminal takes it."""
    console = Console(
        file=StringIO(),
        width=look.width,
        force_terminal=look.colour,
        color_system="standard" if look.colour else None,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
        safe_box=False,
        _environ={},
    )
    with console.capture() as captured:
        _print(console, drawing)
    text = captured.get()
    return text if look.utf8 else in_ascii(text)


def _print(console: Console, drawing: Iterable[ConsoleRenderable]) -> None:
    for each in drawing:
        # a line that is too long is the terminal's to wrap: it knows that it is one, and copies it as one
        console.print(each, soft_wrap=isinstance(each, Text), end="\n" if isinstance(each, Text) else "")


# pictures

_BASE = [(46, 52, 64), (191, 54, 61), (40, 140, 74), (154, 103, 0), (36, 91, 191), (150, 60, 170), (20, 120, 135)]
LIGHT = TerminalTheme((255, 255, 255), (36, 41, 47), [*_BASE, (110, 119, 129)], [*_BASE, (140, 149, 159)])
_DARK = [
    (72, 79, 88),
    (255, 123, 114),
    (86, 211, 100),
    (227, 179, 65),
    (121, 192, 255),
    (210, 168, 255),
    (86, 212, 221),
]
DARK = TerminalTheme((13, 17, 23), (201, 209, 217), [*_DARK, (177, 186, 196)], [*_DARK, (255, 255, 255)])
_FONT_FACE = later(r"@font-face \{\{.*?\}\}\s*", 16)  # DOTALL
_REMARK = later(r"\s*<!--.*?-->")
_FONTS = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"


def render_svg(drawing: Drawing, look: Look, *, title: str, light: bool = False) -> str:
    """As a picture, which needs nothing from anywhere else."""
    console = Console(
        file=StringIO(), width=look.width, record=True, force_terminal=True, color_system="standard",
        legacy_windows=False, highlight=False, markup=False, emoji=False, _environ={},
    )  # fmt: skip
    _print(console, drawing)
    return console.export_svg(
        title=title,
        theme=LIGHT if light else DARK,
        code_format=_svg_format(),
        font_aspect_ratio=0.61,
        unique_id="nacre",
    )


def _svg_format() -> str:
    """Without the fonts that would be fetched from somewhere, and without the address of whoever made it."""
    form = _REMARK.sub("", _FONT_FACE.sub("", CONSOLE_SVG_FORMAT))
    return form.replace("Fira Code, monospace", _FONTS).replace("font-family: arial", "font-family: sans-serif")
