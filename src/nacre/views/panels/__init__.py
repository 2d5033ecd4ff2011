"""What a person sees of a result: panels, notices, tables. The only room that draws with rich, which is loaded here.

A terminal's own sixteen colours and no background, so that they look right on light and on dark. Rules above and below,
nothing at the sides: what is copied from a panel is what the command printed. Every text that is not ours has been
through `views.escape`.
"""

from nacre.views.look import Look
from nacre.views.panels.notices import background_box, refusal, streamed
from nacre.views.panels.paint import Drawing, render, render_svg
from nacre.views.panels.run import panel
from nacre.views.panels.table import task_table

__all__ = [
    "Drawing", "Look", "background_box", "panel", "refusal", "render", "render_svg", "streamed", "task_table",
]  # fmt: skip
