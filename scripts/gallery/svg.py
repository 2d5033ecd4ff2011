"""Renders a drawing as an SVG picture without external resources.

Lines that are too long are wrapped as on a terminal: a picture that cut them would not show what a user sees.
"""

from __future__ import annotations

from rich.terminal_theme import TerminalTheme
from rich.text import Text

from nacre.ansi.width import prefix_length
from nacre.base.frozen import replace
from nacre.views.console.capabilities import TerminalCapabilities
from nacre.views.panels.style import Drawing, console

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

_FONTS = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
_FORMAT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
    <style>

    .{unique_id}-matrix {{
        font-family: FONTS;
        font-size: {char_height}px;
        line-height: {line_height}px;
        font-variant-east-asian: full-width;
    }}

    .{unique_id}-title {{
        font-size: 18px;
        font-weight: bold;
        font-family: sans-serif;
    }}

    {styles}
    </style>

    <defs>
    <clipPath id="{unique_id}-clip-terminal">
      <rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
    </clipPath>
    {lines}
    </defs>

    {chrome}
    <g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
    {backgrounds}
    <g class="{unique_id}-matrix">
    {matrix}
    </g>
    </g>
</svg>
""".replace("FONTS", _FONTS)
"""Template that rich fills in. rich's own one fetches fonts from the network, and is not part of its public API."""


def render_svg(drawing: Drawing, look: TerminalCapabilities, *, title: str, light: bool = False) -> str:
    """Return the drawing as SVG, in the colours of a light or dark terminal."""
    paper = console(replace(look, colour=True), record=True)
    for each in drawing:
        if not isinstance(each, Text):
            paper.print(each, end="")
            continue
        for row in _rows(each, look.width):
            paper.print(row, soft_wrap=True)
    return paper.export_svg(
        title=title,
        theme=LIGHT if light else DARK,
        code_format=_FORMAT,
        font_aspect_ratio=0.61,
        unique_id="nacre",
    )


def _rows(line: Text, width: int) -> list[Text]:
    """Split a line as a terminal wraps it: at the last column, within a word."""
    text, places, place = line.plain, list[int](), 0
    while (fits := prefix_length(text[place:], width)) < len(text) - place:
        place += max(fits, 1)
        places.append(place)
    return list(line.divide(places))
