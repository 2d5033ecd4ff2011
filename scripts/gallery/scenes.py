"""List of every view, each with a recorded result to draw."""

from __future__ import annotations

from collections.abc import Callable

from nacre.base.frozen import frozen
from nacre.result import Result
from nacre.views.console.approval_prompt import QUESTION, prompt_lines
from nacre.views.console.capabilities import TerminalCapabilities
from nacre.views.console.live import LiveView, styles
from nacre.views.panels.background import background_box
from nacre.views.panels.refusal import refusal
from nacre.views.panels.run import panel
from nacre.views.panels.streamed import draw_streamed
from nacre.views.panels.style import Drawing, styled_line
from nacre.views.panels.task_table import task_table
from scripts.gallery import results


@frozen
class Scene:
    """One view in the gallery."""

    name: str
    about: str
    draw: Callable[[TerminalCapabilities], Drawing]


def _panel(
    result: Result, *, timeout: float | None = 120.0, description: str = ""
) -> Callable[[TerminalCapabilities], Drawing]:
    return lambda look: panel(result, look, timeout=timeout, description=description, most=16)


def _live(look: TerminalCapabilities) -> Drawing:
    live = LiveView("npm install", results.HOME, timeout=300.0)
    live.feed("stderr", b"npm WARN deprecated inflight@1.0.6: leaks memory\n")
    live.feed("stdout", b"added 1 package in 1s\nadded 50 packages in 5s\n\rfetching 51/523\rfetching 200/523")
    lines = live.lines(15.3, look.width, 24, utf8=look.utf8)
    return [styled_line((line, style)) for line, style in zip(lines, styles(len(lines)), strict=True)]


def _draw_prompt(look: TerminalCapabilities) -> Drawing:
    return [*map(styled_line, prompt_lines(results.ASKED, look.width, utf8=look.utf8)), styled_line(QUESTION)]


SCENES = (
    Scene(
        "ok",
        "A command that went well: what ran, where, what it printed, how much and how long.",
        _panel(results.BUILD, description="Build the project"),
    ),
    Scene(
        "failed",
        "One that failed. stderr is red, and about where it came (with `--merge` exactly, and not red).",
        _panel(results.TESTS),
    ),
    Scene("live", "While it runs: the last lines, time, lines and bytes, redrawn in place.", _live),
    Scene(
        "streamed",
        "With `--view stream`: every line as it comes, then how it ended.",
        lambda look: draw_streamed(results.INSTALL, look),
    ),
    Scene(
        "blocked",
        "Not run: what was found, why it matters, what to do instead.",
        lambda look: refusal(results.BLOCKED, look),
    ),
    Scene(
        "blocked-long",
        "A long command is broken between words as a shell takes it: it can be copied.",
        lambda look: refusal(results.BLOCKED_LONG, look),
    ),
    Scene(
        "blocked-script",
        "A script begins in the first column, as it was: a here-document can be copied, too.",
        lambda look: refusal(results.BLOCKED_SCRIPT, look),
    ),
    Scene(
        "asked",
        "A person is asked: all of what would run, whatever it comes from, and just above the question why.",
        _draw_prompt,
    ),
    Scene(
        "hostile",
        "Text that would rather not be seen: 400 blanks, text that runs backwards, zero-width characters, the "
        "clipboard. Shown, not obeyed.",
        _panel(results.HOSTILE),
    ),
    Scene(
        "gist",
        "A script on one honest line: what is not shown is counted, and the commands in it are named.",
        _panel(results.SCRIPT),
    ),
    Scene("truncated", "The beginning, the end, what is missing, and where it is.", _panel(results.TRUNCATED)),
    Scene("nothing", "No output.", _panel(results.NOTHING)),
    Scene("json", "JSON, by its content.", _panel(results.JSON)),
    Scene("diff", "A diff.", _panel(results.DIFF)),
    Scene("traceback", "A Python traceback.", _panel(results.TRACEBACK_MERGED)),
    Scene("stderr", "The same on stderr.", _panel(results.TRACEBACK)),
    Scene("log", "A log.", _panel(results.LOG)),
    Scene("xml", "XML.", _panel(results.XML)),
    Scene("yaml", "YAML.", _panel(results.YAML)),
    Scene("background", "A task was started.", lambda look: background_box(results.BACKGROUND, look)),
    Scene("promoted", "It took too long, and goes on as a task.", _panel(results.PROMOTED, timeout=None)),
    Scene("tasks", "All tasks.", lambda look: task_table(results.TASKS, look)),
    Scene("timed-out", "Out of time.", _panel(results.TIMED_OUT, timeout=30.0)),
    Scene("over-limit", "Over a limit.", _panel(results.OVER)),
    Scene("crashed", "Ended by a signal.", _panel(results.CRASHED)),
    Scene("killed", "A task that was killed.", _panel(results.KILLED, timeout=None)),
    Scene("cancelled", "Ended by Ctrl-C, or by whoever called it.", _panel(results.CANCELLED)),
    Scene("not-started", "It did not begin, and why.", _panel(results.NOT_STARTED)),
    Scene("lost", "Nobody knows how it ended.", _panel(results.LOST)),
)
