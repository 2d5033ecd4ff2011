"""Every view as text, at every width: `python -m tests.views.draw` writes the snapshots anew. Then look at them."""

from __future__ import annotations

from pathlib import Path

from nacre.views.console.capabilities import Look
from nacre.views.gallery.scenes import SCENES
from nacre.views.panels.style import render

SNAPSHOTS = Path(__file__).parent / "snapshots"
LOOKS = {
    "60": Look(60),
    "80": Look(80),
    "120": Look(120),
    "200": Look(200),
    "80-ascii": Look(80, utf8=False),
    "80-colour": Look(80, colour=True),
}


def drawn(look: Look) -> str:
    """Escape sequences are spelt, so that one can read them."""
    text = "".join(f"### {scene.name}\n{render(scene.draw(look), look)}\n" for scene in SCENES)
    return text.replace("\x1b", "␛")


if __name__ == "__main__":
    for name, look in LOOKS.items():
        (SNAPSHOTS / f"{name}.txt").write_text(drawn(look), encoding="utf-8")
