"""`nacre gallery`: draws every view from recorded results, on the terminal or as SVG files in a directory."""

from __future__ import annotations

import os

from nacre.cli.common.messages import write_out
from nacre.cli.common.parser import int_option, parse_args
from nacre.cli.common.terminal import terminal_capabilities
from nacre.cli.common.usage import UsageError, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.views.gallery.scenes import Scene

_HELP = """\
usage: nacre gallery [options] [NAME…]     every view for people, drawn from recorded results

  NAME                only these (--list names them all)
  --list              their names
  --width N           columns (default: the terminal's)
  --export DIR        write each as a picture: DIR/NAME-dark.svg and DIR/NAME-light.svg

exit codes: 0; 125 nacre itself failed.
"""
_MIN_COLUMNS, _MAX_COLUMNS = 20, 500
_PICTURE_COLUMNS = 80
"""Default columns of an exported picture."""


def gallery(words: list[str]) -> int:
    args = parse_args("gallery", words, flags=("--list",), valued=("--width", "--export"), takes=(0, None))
    if "--help" in args:
        write_out(_HELP)
        return 0
    width = int_option(args, "--width")
    if width is not None and not _MIN_COLUMNS <= width <= _MAX_COLUMNS:
        raise UsageError(f"--width is from {_MIN_COLUMNS} to {_MAX_COLUMNS}.", field="width")
    scenes = _select_views(args.operands)
    if "--list" in args:
        write_out("".join(f"{scene.name:14} {scene.about}\n" for scene in scenes))
    elif (directory := args.last("--export")) is not None:
        _export(scenes, directory, width or _PICTURE_COLUMNS)
    else:
        _show(scenes, width)
    return 0


def _select_views(names: list[str]) -> list[Scene]:
    from nacre.views.gallery.scenes import SCENES

    known = {scene.name: scene for scene in SCENES}
    for name in names:
        if name not in known:
            near = nearest(name, known)
            hint = f"Did you mean: {near}" if near else "`nacre gallery --list` names them."
            raise UsageError(f"Unknown view {name!r}.", hint)
    return [known[name] for name in names] if names else list(SCENES)


def _show(scenes: list[Scene], width: int | None) -> None:
    from nacre.base.frozen import replace
    from nacre.views.panels.style import render

    shown = terminal_capabilities() if width is None else replace(terminal_capabilities(), width=width)
    for scene in scenes:
        write_out(f"{scene.name}: {scene.about}\n\n{render(scene.draw(shown), shown)}\n\n")


def _export(scenes: list[Scene], directory: str, width: int) -> None:
    from nacre.views.console.capabilities import TerminalCapabilities
    from nacre.views.gallery.svg import render_svg

    shown = TerminalCapabilities(width=width, colour=True)
    try:
        os.makedirs(directory, exist_ok=True)
        for scene in scenes:
            for light in (False, True):
                path = os.path.join(directory, f"{scene.name}-{'light' if light else 'dark'}.svg")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(render_svg(scene.draw(shown), shown, title="nacre", light=light))
    except OSError as error:
        raise UsageError(f"{error.filename or directory}: {error.strerror}.", field="export") from error
    write_out(f"{len(scenes)} views, {2 * len(scenes)} pictures in {directory}\n")
