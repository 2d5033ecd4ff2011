"""Snapshots of every view as text, at every width: `python -m tests.views.draw` regenerates them. Then look at them."""

from __future__ import annotations

from pathlib import Path

from nacre.views.console.capabilities import TerminalCapabilities
from nacre.views.panels.style import render
from scripts.gallery.scenes import SCENES

SNAPSHOTS = Path(__file__).parent / "snapshots"
CAPABILITIES = {
    "60": TerminalCapabilities(60),
    "80": TerminalCapabilities(80),
    "120": TerminalCapabilities(120),
    "200": TerminalCapabilities(200),
    "80-ascii": TerminalCapabilities(80, utf8=False),
    "80-colour": TerminalCapabilities(80, colour=True),
}


def draw_view(look: TerminalCapabilities) -> str:
    """Return every view as text, with escape characters made visible."""
    text = "".join(f"### {scene.name}\n{render(scene.draw(look), look)}\n" for scene in SCENES)
    return text.replace("\x1b", "␛")


if __name__ == "__main__":
    for name, look in CAPABILITIES.items():
        (SNAPSHOTS / f"{name}.txt").write_text(draw_view(look), encoding="utf-8")
