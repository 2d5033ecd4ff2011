"""Draws every view from recorded results, on the terminal or as SVG pictures: `python -m scripts.gallery`.

`make gallery` writes the pictures in docs/gallery.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from nacre.base.frozen import replace
from nacre.cli.common.messages import write_out
from nacre.cli.common.terminal import terminal_capabilities
from nacre.views.console.capabilities import TerminalCapabilities
from nacre.views.panels.style import render
from scripts.gallery.scenes import SCENES, Scene
from scripts.gallery.svg import render_svg

_PICTURE_COLUMNS = 80
"""Default columns of a picture."""


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.gallery", description="Draws every view.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these views")
    parser.add_argument("--width", type=int, metavar="COLUMNS", help="default: of the terminal; 80 for pictures")
    parser.add_argument("--export", type=Path, metavar="DIR", help="write DIR/NAME-dark.svg and DIR/NAME-light.svg")
    options = parser.parse_args(words)
    known = {scene.name: scene for scene in SCENES}
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"unknown view {unknown[0]!r}; there are: {', '.join(known)}")
    scenes = [known[name] for name in options.names] or list(SCENES)
    if options.export is not None:
        export(scenes, options.export, options.width or _PICTURE_COLUMNS)
    else:
        show(scenes, options.width)
    return 0


def show(scenes: Sequence[Scene], width: int | None) -> None:
    """Draw the scenes on the terminal."""
    shown = terminal_capabilities() if width is None else replace(terminal_capabilities(), width=width)
    for scene in scenes:
        write_out(f"{scene.name}: {scene.about}\n\n{render(scene.draw(shown), shown)}\n\n")


def export(scenes: Sequence[Scene], directory: Path, width: int) -> None:
    """Write two pictures of each scene, for dark and light pages."""
    shown = TerminalCapabilities(width=width, colour=True)
    directory.mkdir(parents=True, exist_ok=True)
    for scene in scenes:
        for light in (False, True):
            picture = render_svg(scene.draw(shown), shown, title="nacre", light=light)
            (directory / f"{scene.name}-{'light' if light else 'dark'}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
