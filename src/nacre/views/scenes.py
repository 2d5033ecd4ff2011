"""Every view, each with a recorded result to draw."""

from __future__ import annotations

from collections.abc import Callable

from nacre.frozen import frozen
from nacre.result import Result
from nacre.views import recorded
from nacre.views.live import Live, styles
from nacre.views.look import Look
from nacre.views.panels.background import background_box
from nacre.views.panels.notices import refusal, streamed
from nacre.views.panels.paint import Drawing, said
from nacre.views.panels.run import panel
from nacre.views.panels.table import task_table


@frozen
class Scene:
    name: str
    about: str
    draw: Callable[[Look], Drawing]


def _panel(result: Result, *, timeout: float | None = 120.0, description: str = "") -> Callable[[Look], Drawing]:
    return lambda look: panel(result, look, timeout=timeout, description=description, most=16)


def _live(look: Look) -> Drawing:
    live = Live("npm install", recorded.HOME, timeout=300.0)
    live.feed("stderr", b"npm WARN deprecated inflight@1.0.6: leaks memory\n")
    live.feed("stdout", b"added 1 package in 1s\nadded 50 packages in 5s\n\rfetching 51/523\rfetching 200/523")
    lines = live.lines(15.3, look.width, 24, utf8=look.utf8)
    return [said((line, style)) for line, style in zip(lines, styles(len(lines)), strict=True)]


SCENES = (
    Scene(
        "ok",
        "A command that went well: what ran, where, what it printed, how much and how long.",
        _panel(recorded.BUILD, description="Build the project"),
    ),
    Scene("failed", "One that failed. stderr is red, and where it came.", _panel(recorded.TESTS)),
    Scene("live", "While it runs: the last lines, time, lines and bytes, redrawn in place.", _live),
    Scene("streamed", "The same when it has ended.", lambda look: streamed(recorded.INSTALL, look)),
    Scene(
        "blocked",
        "Not run: what was found, why it matters, what to do instead.",
        lambda look: refusal(recorded.BLOCKED, look),
    ),
    Scene(
        "blocked-long",
        "A long command is broken between words as a shell takes it: it can be copied.",
        lambda look: refusal(recorded.BLOCKED_LONG, look),
    ),
    Scene(
        "hostile",
        "Text that would rather not be seen: 400 blanks, text that runs backwards, zero-width characters, the "
        "clipboard. Shown, not obeyed.",
        _panel(recorded.HOSTILE),
    ),
    Scene(
        "gist",
        "A script on one honest line: what is not shown is counted, and the commands in it are named.",
        _panel(recorded.SCRIPT),
    ),
    Scene("truncated", "The beginning, the end, what is missing, and where it is.", _panel(recorded.TRUNCATED)),
    Scene("nothing", "No output.", _panel(recorded.NOTHING)),
    Scene("json", "JSON, by its content.", _panel(recorded.JSON)),
    Scene("diff", "A diff.", _panel(recorded.DIFF)),
    Scene("traceback", "A Python traceback.", _panel(recorded.TRACEBACK_MERGED)),
    Scene("stderr", "The same on stderr.", _panel(recorded.TRACEBACK)),
    Scene("log", "A log.", _panel(recorded.LOG)),
    Scene("xml", "XML.", _panel(recorded.XML)),
    Scene("yaml", "YAML.", _panel(recorded.YAML)),
    Scene("background", "A task was started.", lambda look: background_box(recorded.BACKGROUND, look)),
    Scene("promoted", "It took too long, and goes on as a task.", _panel(recorded.PROMOTED, timeout=None)),
    Scene("tasks", "All tasks.", lambda look: task_table(recorded.TASKS, look)),
    Scene("timed-out", "Out of time.", _panel(recorded.TIMED_OUT, timeout=30.0)),
    Scene("over-limit", "Over a limit.", _panel(recorded.OVER)),
    Scene("crashed", "Ended by a signal.", _panel(recorded.CRASHED)),
    Scene("killed", "A task that was killed.", _panel(recorded.KILLED, timeout=None)),
    Scene("lost", "Nobody knows how it ended.", _panel(recorded.LOST)),
)
